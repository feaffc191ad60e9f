// What Anthropic's documentation prints for JavaScript, with nothing changed. One line of JSON says what came.
import fs from 'fs';
import Anthropic, { toFile } from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';

const seen = {};
const anthropic = new Anthropic();
const files = anthropic.beta.files;

// ---- code execution with files
const fileObject = await files.upload({
  file: await toFile(Buffer.from('city,sales\nBern,3\nBasel,5\n'), 'data.csv', { type: 'text/csv' }),
});
let response = await anthropic.beta.messages.create({
  model: 'claude-opus-4-5',
  betas: ['code-execution-2025-08-25', 'files-api-2025-04-14'],
  max_tokens: 4096,
  messages: [{
    role: 'user',
    content: [
      { type: 'text', text: 'Analyze this CSV data' },
      { type: 'container_upload', file_id: fileObject.id },
    ],
  }],
  tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
});
for (const item of response.content) {
  if (item.type === 'bash_code_execution_tool_result' && item.content.type === 'bash_code_execution_result') {
    for (const file of item.content.content) {
      const metadata = await files.retrieveMetadata(file.file_id);
      const content = await files.download(file.file_id);
      fs.writeFileSync(metadata.filename, Buffer.from(await content.arrayBuffer()));
    }
  }
}
seen.file = fs.readFileSync('chart.txt', 'utf8');
seen.stop = response.stop_reason;

// ---- programmatic tool calling
const tools = [
  { type: 'code_execution_20250825', name: 'code_execution' },
  {
    name: 'query_database',
    description: 'Execute a SQL query against the sales database. Returns a list of rows as JSON objects.',
    input_schema: { type: 'object', properties: { sql: { type: 'string' } }, required: ['sql'] },
    allowed_callers: ['code_execution_20250825'],
  },
];
const question = { role: 'user', content: 'Query customer purchase history and identify our top 5 customers' };
const asked = { model: 'claude-sonnet-4-5', betas: ['advanced-tool-use-2025-11-20'], max_tokens: 4096, tools };
response = await anthropic.beta.messages.create({ ...asked, messages: [question] });
const call = response.content.at(-1);
[seen.caller, seen.sql] = [call.caller.type, call.input.sql];
response = await anthropic.beta.messages.create({
  ...asked,
  container: response.container.id,
  messages: [
    question,
    { role: 'assistant', content: response.content },
    {
      role: 'user',
      content: [{
        type: 'tool_result',
        tool_use_id: call.id,
        content: '[{"customer_id": "C1", "revenue": 45000}, {"customer_id": "C2", "revenue": 38000}]',
      }],
    },
  ],
});
seen.programmatic = [response.content[0].content.stdout, response.content.at(-1).text, response.stop_reason];

// ---- a stream
seen.text = '';
const stream = anthropic.messages.stream({
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
  model: 'claude-opus-4-5',
  thinking: { type: 'enabled', budget_tokens: 1024 },
  tools: [{ type: 'code_execution_20260521', name: 'code_execution' }],
}).on('text', (text) => { seen.text += text; });
seen.blocks = (await stream.finalMessage()).content.map((block) => block.type);

// ---- the tool runner
const getWeather = betaTool({
  name: 'get_weather',
  description: 'Get the weather for a given location.',
  inputSchema: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
  run: ({ location }) => JSON.stringify({ location, temperature: '68°F' }),
});
seen.runner = [];
for await (const message of anthropic.beta.messages.toolRunner({
  max_tokens: 1024, model: 'claude-sonnet-4-5', tools: [getWeather],
  messages: [{ role: 'user', content: 'What is the weather in SF?' }],
})) {
  seen.runner.push(message.stop_reason === 'end_turn' ? message.content.at(-1).text : message.stop_reason);
}
try {
  await anthropic.messages.create({ model: 'gpt', max_tokens: 1, messages: [{ role: 'user', content: '?' }] });
} catch (error) {
  if (error instanceof Anthropic.NotFoundError) seen.error = error.error.error.type;
}
seen.tokens = (await anthropic.messages.countTokens({ model: 'claude-x', messages: [question] })).input_tokens > 10;
seen.models = [];
for await (const model of anthropic.models.list()) seen.models.push(model.id);
console.log(JSON.stringify(seen));
