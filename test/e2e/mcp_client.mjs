// A session of calls through MCP's own TypeScript clients: mcp_client.mjs v1|v2|v2-legacy MODULES http URL KEY
// or: mcp_client.mjs v1|… MODULES stdio COMMAND. Prints what came of it as JSON.
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const [version, modules, transport, where, key] = process.argv.slice(2);
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

const call = async (name, args) => client.callTool({ name, arguments: args });
const { tools } = await client.listTools();
const first = await call("run_code", { code: "x = 6" });
const session = first.structuredContent.session;
const again = await call("run_code", { code: "print(x * 7)", session });
const wrong = await call("run_code", { code: "1 / 0", session });
await call("files", { action: "write", path: "a.txt", text: "hello", session });
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
const listed = await call("session", { action: "list" });
const cut = await call("run_code", { code: "for i in range(9000): print(i)", session, max_text: 1024 });
const page = await call("output", { handle: cut.structuredContent.outputs[0], length: 1024 });
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name), text: again.content[0].text.split("\n")[0],
  isError: wrong.isError, resource: contents[0].text,
  listed: listed.content[0].text.includes(session), page: page.content[0].text.slice(0, 5),
}));
await client.close();
