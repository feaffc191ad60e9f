// OpenAI's own SDK for JavaScript, of any version: what it checks by itself while it reads streams.
// usage: node node_client.mjs PACKAGE
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.MODULES}/`);
const { default: OpenAI } = await import(pathToFileURL(require.resolve(process.argv[2])).href);
const client = new OpenAI({ maxRetries: 0 });
const model = "gpt-9";
const code = { type: "code_interpreter", container: { type: "auto" } };

const response = await client.responses.stream({ model, input: "Calculate.", tools: [code] }).finalResponse();
console.log("responses", response.output.map((item) => item.type).join(), response.output_text);

const completion = await client.chat.completions
  .stream({ model, messages: [{ role: "user", content: "Calculate." }] }).finalContent();
console.log("chat", completion);

const runner = client.chat.completions.runTools({
  model, stream: true, messages: [{ role: "user", content: "How is the weather?" }],
  tools: [{ type: "function", function: { name: "get_weather", description: "The weather of a city.",
    parse: JSON.parse, function: ({ city }) => `12 degrees in ${city}`,
    parameters: { type: "object", properties: { city: { type: "string" } } } } }],
});
console.log("tools", await runner.finalContent());

const assistant = await client.beta.assistants.create({ model, tools: [{ type: "code_interpreter" }] });
const thread = await client.beta.threads.create({ messages: [{ role: "user", content: "Calculate." }] });
const stream = client.beta.threads.runs.stream(thread.id, { assistant_id: assistant.id });
const messages = await stream.finalMessages();
console.log("threads", messages.at(-1).content[0].text.value);
const run = await client.beta.threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id });
console.log("poll", run.status);
