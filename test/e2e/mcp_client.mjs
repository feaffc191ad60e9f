// A session of calls through MCP's own TypeScript clients: mcp_client.mjs v1|v2|v2-legacy MODULES http URL KEY
// or: mcp_client.mjs v1|… MODULES stdio COMMAND. Prints what came of it as JSON.
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const [version, modules, transport, where, key] = process.argv.slice(2);
// Half red, half blue.
const FIGURE = `import numpy, matplotlib.pyplot as plt
shown = numpy.zeros((10, 20, 3)); shown[:, :10, 0] = 1; shown[:, 10:, 2] = 1
figure = plt.figure(figsize=(4, 2)); figure.add_axes([0, 0, 1, 1]).imshow(shown, aspect='auto'); plt.axis('off'); plt.show()`;
const require = createRequire(modules + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));

async function parts() {
  if (version !== "v1") {
    const all = await load("@modelcontextprotocol/client");
    const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
    return { ...all, StdioClientTransport };
  }
  return {
    ...(await load("@modelcontextprotocol/sdk/client/index.js")),
    ...(await load("@modelcontextprotocol/sdk/client/stdio.js")),
    ...(await load("@modelcontextprotocol/sdk/client/streamableHttp.js")),
  };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await parts();
const options = version === "v2" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "test", version: "1" }, options);
await client.connect(transport === "http"
  ? new StreamableHTTPClientTransport(new URL(where),
    { requestInit: { headers: { Authorization: `Bearer ${key}` } } })
  : new StdioClientTransport({ command: where, args: ["mcp"], env: process.env }));

const call = async (name, args, more) => client.callTool({ name, arguments: args },
  ...(version === "v1" ? [undefined, more] : [more]));
const run = (code, more = {}, about = undefined) => call("run_code", { code, session, ...more }, about);
const text = (result) => result.content[0].text;
const { tools } = await client.listTools();
let session = undefined;
session = (await call("run_code", { code: "x = 0" })).structuredContent.session;
for (let i = 0; i < 10; i += 1) await run("x += 1");
const counted = text(await run("print(x)")).split("\n")[0];
const wrong = await run("1 / 0");
await call("files", { action: "write", path: "a.txt", text: "hello", session });
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
const listed = await call("session", { action: "list" });
const cut = await run("for i in range(9000): print(i)", { max_text: 1024 });
const page = await call("output", { handle: cut.structuredContent.outputs[0], length: 1024 });
const drawn = await run(FIGURE);
const wrote = await run("open('out.csv', 'w').write('a,b\\n1,2\\n')");
const out = wrote.content.find((block) => block.type === "resource_link");
const file = (await client.readResource({ uri: out.uri })).contents[0].text;
const late = await run("while True: pass", { timeout_s: 0.5 });
const abort = new AbortController();
const begun = new Promise((done) => {
  run("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)", {},
    { signal: abort.signal, onprogress: () => { abort.abort(); } }).catch(() => done("cancelled"));
});
const cancelled = await begun;
const kept = text(await run("print(x)")).split("\n")[0];
const flood = await run("line = 'y' * 65535\nfor _ in range(1600): print(line)");
const crash = await run("import os\nos.kill(os.getpid(), 9)");
const after = text(await run("print('x' in globals())")).split("\n");
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name), counted, isError: wrong.isError, resource: contents[0].text,
  listed: text(listed).includes(session), page: text(page).slice(0, 5),
  figure: drawn.content.find((block) => block.type === "image").data, file,
  late: [late.isError, late.structuredContent.status], cancelled, kept,
  flood: [flood.isError, text(flood).length < 20000, flood.structuredContent.outputs.length > 0],
  crash: [crash.isError, crash.structuredContent.status], after: after.includes("False"),
}));
await client.close();
