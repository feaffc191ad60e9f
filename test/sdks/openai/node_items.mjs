// What comes back of Responses, and what stands beside them: the shell, items by their ids, encrypted
// reasoning, files by their ids, images in threads, the numbers of a quota. With any version of OpenAI's SDK.
// usage: node node_items.mjs PACKAGE
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.MODULES}/`);
const { default: OpenAI, toFile } = await import(pathToFileURL(require.resolve(process.argv[2])).href);
const client = new OpenAI({ maxRetries: 0 });
const model = "gpt-9";
const image = Buffer.from(process.env.PNG, "base64");

// The helper of version 6 knows no events of the shell, whoever sends them; its plain streams do.
async function finalResponse(body) {
  if (process.argv[2] === "openai") return client.responses.stream(body).finalResponse();
  let last;
  for await (const event of await client.responses.create({ ...body, stream: true })) last = event;
  return last.response;
}

const shell = await finalResponse({
  model, input: "Count.", tools: [{ type: "shell", environment: { type: "container_auto" } }],
});
const [call, told] = shell.output.filter((item) => item.type !== "reasoning");
console.log("shell", call.action.commands.join(), told.output[0].stdout.trim(), told.output[1].outcome.exit_code);

const named = await client.responses.create({
  model, input: [{ type: "item_reference", id: shell.output.at(-1).id }, { role: "user", content: "?" }],
});
console.log("reference", named.output_text);

const include = ["reasoning.encrypted_content"];
const first = await client.responses.create({ model, input: "Think.", store: false, include });
const sealed = first.output.find((item) => item.type === "reasoning").encrypted_content;
const input = [{ role: "user", content: "Think." }, ...first.output, { role: "user", content: "On." }];
await client.responses.create({ model, input, store: false, include });
console.log("sealed", sealed.length > 0);

const file = await client.files.create({ file: await toFile(image, "p.png"), purpose: "vision" });
const seen = await client.responses.create({
  model, input: [{ role: "user", content: [{ type: "input_image", file_id: file.id, detail: "auto" }] }],
});
console.log("image", seen.output_text);

const assistant = await client.beta.assistants.create({ model });
const thread = await client.beta.threads.create({
  messages: [{ role: "user", content: [{ type: "image_file", image_file: { file_id: file.id } }] }],
});
const run = await client.beta.threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id });
console.log("thread", run.status);

const { response } = await client.responses.create({ model, input: "?" }).withResponse();
console.log("limit", response.headers.get("x-ratelimit-limit-requests"));
const error = await client.responses.create({ model, input: [{ type: "item_reference", id: "msg_1" }] }).catch((e) => e);
console.log("error", error instanceof OpenAI.NotFoundError, error.type);
