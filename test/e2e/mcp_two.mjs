// Two of MCP's own TypeScript clients at once on one session: mcp_two.mjs v1|v2|v2-legacy MODULES http URL KEY
// or: mcp_two.mjs v1|… MODULES stdio COMMAND (two servers). Prints what came of it as JSON.
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const [version, modules, transport, where, key] = process.argv.slice(2);
const require = createRequire(modules + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = version === "v1"
  ? { ...(await load("@modelcontextprotocol/sdk/client/index.js")),
    ...(await load("@modelcontextprotocol/sdk/client/stdio.js")),
    ...(await load("@modelcontextprotocol/sdk/client/streamableHttp.js")) }
  : { ...(await load("@modelcontextprotocol/client")),
    ...(await load("@modelcontextprotocol/client/stdio")) };

async function connected(name) {
  const client = new Client({ name, version: "1" },
    version === "v2" ? { versionNegotiation: { mode: "auto" } } : {});
  await client.connect(transport === "http"
    ? new StreamableHTTPClientTransport(new URL(where),
      { requestInit: { headers: { Authorization: `Bearer ${key}` } } })
    : new StdioClientTransport({ command: where, args: ["mcp"], env: process.env }));
  const call = (tool, args, more) => client.callTool({ name: tool, arguments: args },
    ...(version === "v1" ? [undefined, more] : [more]));
  return { client, call };
}

const [one, other] = await Promise.all([connected("one"), connected("other")]);
const { session } = (await one.call("session", { action: "new" })).structuredContent;
const run = (who, code, more) => who.call("run_code", { code, session }, more);
const text = async (result) => (await result).content[0].text.trim().split("\n");

// Each takes its turn: what a call reads is not changed until it has written.
await run(one, "import time\nx = 0");
const add = "seen = x\ntime.sleep(0.01)\nx = seen + 1";
await Promise.all(Array.from({ length: 12 }, (_, i) => run(i % 2 ? one : other, add)));
const counted = await text(run(other, "print(x)"));
// What one writes the other reads, as a file and as a variable.
await Promise.all([
  one.call("files", { action: "write", path: "one.txt", text: "of one", session }),
  other.call("files", { action: "write", path: "other.txt", text: "of the other", session })]);
const files = [await other.call("files", { action: "read", path: "one.txt", session }),
  await one.call("files", { action: "read", path: "other.txt", session })]
  .map((each) => each.content[0].text.trim());
// One gives up its call; the other's, which waits behind it, goes on.
const abort = new AbortController();
let waiting;
const cancelled = await run(one, "print('begun', flush=True)\nwhile True: time.sleep(0.01)", {
  signal: abort.signal,
  onprogress: () => { waiting ??= run(other, "print('went on', x)"); setTimeout(() => abort.abort(), 50); },
}).then(() => "ended", () => "cancelled");
const wentOn = await text(waiting);
// A crash of the kernel is told to who caused it; the other finds a fresh one, and the files.
const crash = await run(one, "import os\nos.kill(os.getpid(), 9)");
const fresh = await text(run(other, "import os\nprint('x' in globals(), sorted(os.listdir()))"));
// One goes; the session stays.
await one.client.close();
const alone = await text(run(other, "print(6 * 7)"));
await other.call("session", { action: "end", session });
await other.client.close();
console.log(JSON.stringify({ counted: counted[0], files, cancelled, wentOn: wentOn[0],
  crash: [crash.isError, crash.structuredContent.status], fresh: fresh.find((line) => line.startsWith("False")), alone: alone[0] }));
