// A client of `reckon serve` as somebody with Node and nothing else would write it: fetch, streams.
// Prints one JSON object of what it saw. Usage: node serve_client.mjs URL KEY
import assert from "node:assert/strict";

const [, , base, key] = process.argv;
const url = (path) => `${base}/reckon/v1${path}`;

async function ask(method, path, body, headers = {}) {
	const plain = body === undefined || body instanceof Uint8Array || body instanceof ReadableStream;
	const response = await fetch(url(path), {
		method,
		body: plain ? body : JSON.stringify(body),
		duplex: "half",
		headers: {
			authorization: `Bearer ${key}`,
			...(plain ? {} : { "content-type": "application/json" }),
			...headers,
		},
	});
	const type = response.headers.get("content-type") ?? "";
	return {
		status: response.status,
		headers: response.headers,
		body: type.startsWith("application/json")
			? await response.json()
			: new Uint8Array(await response.arrayBuffer()),
	};
}

// Yields {id, event, data} as they come, whatever the chunks are.
async function* events(method, path, body, { headers = {}, signal } = {}) {
	const response = await fetch(url(path), {
		method,
		body: body && JSON.stringify(body),
		signal,
		headers: {
			authorization: `Bearer ${key}`,
			accept: "text/event-stream",
			...(body ? { "content-type": "application/json" } : {}),
			...headers,
		},
	});
	assert.equal(response.status, 200);
	assert.equal(response.headers.get("content-type"), "text/event-stream");
	let rest = "";
	for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
		const blocks = (rest + piece).split("\n\n");
		rest = blocks.pop();
		for (const block of blocks) {
			const field = {};
			for (const line of block.split("\n")) {
				if (line.startsWith(":")) continue;
				const at = line.indexOf(": ");
				field[line.slice(0, at)] = line.slice(at + 2);
			}
			if (field.data !== undefined)
				yield { id: Number(field.id), event: field.event, data: JSON.parse(field.data) };
		}
	}
	assert.equal(rest, "", "the stream ends within an event");
}

async function collect(stream) {
	const all = [];
	for await (const each of stream) all.push(each);
	return all;
}

// A string goes as text/plain when nobody says what it is: that is refused, and says so.
const unnamed = await fetch(url("/sessions"), {
	method: "POST", body: "{}", headers: { authorization: `Bearer ${key}` },
});
assert.equal(unnamed.status, 415);
assert.match((await unnamed.json()).error.remedy, /application\/json/);

const created = await ask("POST", "/sessions", { template: "python", metadata: { by: "node" } });
assert.equal(created.status, 201);
const session = `/sessions/${created.body.id}`;
const run = (code, more = {}) => ask("POST", `${session}/executions`, { code, ...more });
const seen = {};

// State stays; an error is a record; what is refused is typed.
await run("x = 41");
seen.stdout = (await run("print(x + 1)")).body.stdout;
seen.error = (await run("1 / 0")).body.error.name;
const refused = await run("1", { colour: "red" });
seen.refused = [refused.status, refused.body.error.code, typeof refused.body.error.remedy];

// Events as they come, again from the middle, and a client that leaves.
const slow = "import time\nfor i in range(5): print('é', i, flush=True); time.sleep(.02)";
const first = await collect(events("POST", `${session}/executions`, { code: slow, stream: true }));
const record = first.at(-1).data.record;
seen.streamed = first.filter((e) => e.event === "stream").map((e) => e.data.text).join("");
seen.last = first.at(-1).event;
const again = await collect(events("GET", `${session}/executions/${record.id}/events`, null, {
	headers: { "last-event-id": String(first[1].id) },
}));
assert.deepEqual(again, first.slice(2));
const leaving = new AbortController();
try {
	const code = "import time\nprint('begun', flush=True); time.sleep(.3); left = True";
	for await (const each of events("POST", `${session}/executions`, { code, stream: true },
		{ signal: leaving.signal }))
		if (each.event === "stream") leaving.abort();
} catch (error) {
	assert.equal(error.name, "AbortError");
}
seen.afterLeaving = (await run("print(left)")).body.stdout;

// A file in as a stream, out whole and in part; the names of the web.
const bytes = new Uint8Array(3_000_000).map((_, i) => i % 251);
const pieces = new ReadableStream({
	start(controller) {
		for (let at = 0; at < bytes.length; at += 65_537)
			controller.enqueue(bytes.slice(at, at + 65_537));
		controller.close();
	},
});
const name = `${session}/files/${encodeURIComponent("Überblick 1.bin")}`;
seen.put = (await ask("PUT", name, pieces)).status;
const whole = await ask("GET", name);
assert.deepEqual(whole.body, bytes);
const part = await ask("GET", name, undefined, { range: "bytes=100-199" });
assert.equal(part.status, 206);
assert.deepEqual(part.body, bytes.slice(100, 200));
const cached = await ask("GET", name, undefined, { "if-none-match": whole.headers.get("etag") });
seen.cached = cached.status;
seen.inBox = (await run("import os; print(os.listdir())")).body.stdout;

// Twenty at once over as many connections as fetch likes, in one kernel's order.
await run("n = 0");
await Promise.all(Array.from({ length: 12 }, () => run("n += 1")));
seen.counted = (await run("print(n)")).body.stdout;

// The same key never runs twice.
const once = { "idempotency-key": "node-1" };
const a = await ask("POST", `${session}/executions`, { code: "n += 100" }, once);
const b = await ask("POST", `${session}/executions`, { code: "n += 100" }, once);
assert.equal(a.body.id, b.body.id);
seen.once = (await run("print(n)")).body.stdout;

seen.deleted = (await ask("DELETE", session)).status;
seen.gone = (await run("1")).status;
console.log(JSON.stringify(seen));
process.exit(0); // fetch keeps a connection that had a 304 until the server closes it
