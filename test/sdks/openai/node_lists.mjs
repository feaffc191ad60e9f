// Lists, page by page, as OpenAI's SDK for JavaScript turns them: what each gave, as one line.
import { createRequire } from "node:module";

const { default: OpenAI, toFile } = createRequire(`${process.env.MODULES}/`)(process.argv[2]);
const client = new OpenAI();
const files = [];
for (let number = 0; number < 5; number++)
  files.push(await client.files.create({
    file: await toFile(Buffer.from("x"), `${number}.txt`), purpose: ["assistants", "user_data"][number % 2],
  }));

async function say(name, list, show) {
  let text = "";
  for await (const each of list) text += show(each);
  console.log(name, text);
}

const first = (file) => file.filename[0];
await say("files", client.files.list(), first);
await say("pages", client.files.list({ limit: 2 }), first);
await say("ascending", client.files.list({ limit: 2, order: "asc" }), first);
await say("purpose", client.files.list({ limit: 1, purpose: "assistants" }), first);
await say("after", client.files.list({ limit: 1, after: files[2].id }), first);
const containers = [];
for (let number = 0; number < 5; number++)
  containers.push(await client.containers.create({ name: String(number) }));
for (const query of [{}, { limit: 2 }, { limit: 2, order: "asc" }, { after: containers[2].id, order: "asc" }])
  await say(["containers", ...Object.keys(query)].join("-"), client.containers.list(query), (each) => each.name);
const own = containers[0].id;
for (let number = 0; number < 5; number++)
  await client.containers.files.create(own, { file: await toFile(Buffer.from("x"), `${number}.txt`) });
for (const query of [{}, { limit: 2 }, { limit: 2, order: "asc" }])
  await say(["inside", ...Object.keys(query)].join("-"), client.containers.files.list(own, query),
    (each) => each.path.at(-5));
