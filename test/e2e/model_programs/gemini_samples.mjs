// What Google's documentation prints for code execution in JavaScript, with nothing changed.
import fs from 'fs';
import { GoogleGenAI } from '@google/genai';

const seen = {};
const ai = new GoogleGenAI({});
const model = 'gemini-2.5-flash';

// ---- the chat
let chat = ai.chats.create({
  model,
  config: { systemInstruction: 'You are a mathematician.', tools: [{ codeExecution: {} }] },
});
let response = await chat.sendMessage({ message: 'I have a math question for you.' });
seen.hello = response.text;
response = await chat.sendMessage({
  message: 'What is the sum of the first 50 prime numbers? Generate and run code for the calculation.',
});
seen.chat = [];
for (const part of response.candidates[0].content.parts) {
  if (part.text) seen.chat.push(part.text);
  if (part.executableCode) seen.chat.push(part.executableCode.code);
  if (part.codeExecutionResult) seen.chat.push(part.codeExecutionResult.output);
}

// ---- the same as a stream, which remembers what was said
chat = ai.chats.create({ model, config: { tools: [{ codeExecution: {} }] } });
seen.stream = [];
for (const message of ['One?', 'Two?']) {
  let text = '';
  for await (const chunk of await chat.sendMessageStream({ message })) {
    for (const part of chunk.candidates[0].content.parts) text += part.text ?? '';
  }
  seen.stream.push(text);
}
seen.history = chat.getHistory(true).length > 3;

// ---- input and output
fs.writeFileSync('data.csv', 'a,b\n1,2\n');
const file = await ai.files.upload({ file: 'data.csv', config: { mimeType: 'text/csv' } });
response = await ai.models.generateContent({
  model,
  contents: [{
    role: 'user',
    parts: [
      { fileData: { fileUri: file.uri, mimeType: file.mimeType } },
      { inlineData: { data: Buffer.from('x;y\n').toString('base64'), mimeType: 'text/plain' } },
      { text: 'Draw it.' },
    ],
  }],
  config: { tools: [{ codeExecution: {} }] },
});
const parts = response.candidates[0].content.parts;
seen.chart = parts.filter((part) => part.inlineData).map(
  (part) => Buffer.from(part.inlineData.data, 'base64').subarray(0, 4).toString('hex'));
seen.printed = parts.filter((part) => part.codeExecutionResult).map((part) => part.codeExecutionResult.output);

// ---- a function, then one beside code
const lights = { name: 'lights', parametersJsonSchema: { type: 'object', properties: {} } };
const contents = [{ role: 'user', parts: [{ text: 'Party!' }] }];
response = await ai.models.generateContent({ model, contents, config: { tools: [{ functionDeclarations: [lights] }] } });
const call = response.functionCalls[0];
contents.push(response.candidates[0].content, {
  role: 'user', parts: [{ functionResponse: { name: call.name, id: call.id, response: { output: 'on' } } }] });
response = await ai.models.generateContent({ model, contents, config: { tools: [{ functionDeclarations: [lights] }] } });
seen.function = response.text;
response = await ai.models.generateContent({
  model, contents: 'Both.', config: { tools: [{ codeExecution: {} }, { functionDeclarations: [lights] }] } });
seen.both = response.candidates[0].content.parts.map((part) => [!!part.executableCode, !!part.functionCall]);
seen.tokens = (await ai.models.countTokens({ model, contents: 'Hello there' })).totalTokens > 1;
await ai.files.delete({ name: file.name });
console.log(JSON.stringify(seen));
