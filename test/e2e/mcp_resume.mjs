// A stream of MCP's own TypeScript clients breaks off: mcp_resume.mjs v1|v2 MODULES PORT KEY
// Between client and daemon stands a proxy that cuts the first stream which has told of progress.
import { createServer, connect } from "node:net";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const [version, modules, port, key] = process.argv.slice(2);
const require = createRequire(modules + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client, StreamableHTTPClientTransport, CallToolResultSchema } = version === "v1"
  ? { ...(await load("@modelcontextprotocol/sdk/client/index.js")),
    ...(await load("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...(await load("@modelcontextprotocol/sdk/types.js")) }
  : await load("@modelcontextprotocol/client");

let cuts = 1;
let heads = "";
const proxy = createServer((inner) => {
  const outer = connect(Number(port), "127.0.0.1");
  inner.on("data", (bytes) => { heads += bytes.toString("latin1"); outer.write(bytes); });
  outer.on("data", (bytes) => {
    inner.write(bytes);
    if (cuts > 0 && bytes.includes("notifications/progress")) {
      cuts -= 1;
      inner.destroy();
    }
  });
  for (const [one, other] of [[inner, outer], [outer, inner]]) {
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroy());
  }
});
await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));

const url = new URL(`http://127.0.0.1:${proxy.address().port}/mcp`);
const options = (more) => ({
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
  reconnectionOptions: { initialReconnectionDelay: 20, maxReconnectionDelay: 100,
    reconnectionDelayGrowFactor: 1.2, maxRetries: 20 },
  ...more,
});
const waits = (name) => `import os, time\nprint('one')\nwhile not os.path.exists('${name}'): time.sleep(0.01)\nprint('two')\n6 * 7`;
const ask = (client, code, more) => client.request(
  { method: "tools/call", params: { name: "run_code", arguments: { code } } },
  ...(version === "v1" ? [CallToolResultSchema] : []), more);

// The client takes the stream up again by itself.
const transport = new StreamableHTTPClientTransport(url, options({}));
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const seen = [];
let token;
const running = ask(client, waits("go"), {
  onprogress: (progress) => seen.push(progress.message.trim()),
  onresumptiontoken: (each) => { token = each; },
});
while (cuts > 0) await new Promise((done) => setTimeout(done, 10));
await client.callTool({ name: "files", arguments: { action: "write", path: "go", text: "" } });
const resumed = await running;

// Another client does, with a token that the first one got.
let other = null;
if (version === "v1") {
  let first;
  ask(client, waits("gone"), { onprogress: () => {}, onresumptiontoken: (each) => { first ??= each; } })
    .catch(() => {});
  while (first === undefined) await new Promise((done) => setTimeout(done, 10));
  await client.callTool({ name: "files", arguments: { action: "write", path: "gone", text: "" } });
  const { sessionId } = transport;
  await client.close();
  const second = new Client({ name: "test", version: "1" });
  await second.connect(new StreamableHTTPClientTransport(url, options({ sessionId })));
  other = (await ask(second, "", { resumptionToken: first })).content[0].text.split("\n");
  await second.close();
} else {
  await client.close();
}
console.log(JSON.stringify({
  seen, text: resumed.content[0].text.split("\n"), had: typeof token,
  resumptions: heads.split("\r\n").filter((line) => /^last-event-id:/i.test(line)).length, other,
}));
proxy.close();
process.exit(0);
