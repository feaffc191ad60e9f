// Vercel's AI SDK against Reckon: openai.tools.codeInterpreter, whole and as a stream.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.MODULES}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { generateText, streamText, stepCountIs } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const tools = { code_interpreter: openai.tools.codeInterpreter({}) };

const whole = await generateText({ model: openai.responses("gpt-9"), prompt: "Calculate.", tools });
console.log("whole", whole.text);
const results = whole.steps.flatMap((step) => step.content).filter((part) => part.type === "tool-result");
console.log("outputs", JSON.stringify(results.at(-1)?.output?.outputs));
const stream = streamText({ model: openai.responses("gpt-9"), prompt: "Calculate.", tools,
  stopWhen: stepCountIs(3), onError: ({ error }) => { throw error; } });
let text = "";
for await (const piece of stream.textStream) text += piece;
console.log("stream", text);
