// The types that openapi-typescript makes, with openapi-fetch: usage: node typescript_client.js URL KEY
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const [, , url, key] = process.argv;
const { GET, PUT, POST, DELETE } = createClient<paths>({
	baseUrl: url!,
	headers: { Authorization: `Bearer ${key}` },
});
type RecordOf = components['schemas']['Record'];

function must<T>(answer: { data?: T; error?: unknown }): T {
	if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
	return answer.data;
}

const session = must(await POST('/reckon/v1/sessions', { body: { template: 'python' } })).id;
const at = { params: { path: { session } } };
const execute = async (body: components['schemas']['ExecutionCreate']) =>
	must(await POST('/reckon/v1/sessions/{session}/executions', { ...at, body }));

const record = (await execute({
	code: "import sys; print(6 * 7); print('e', file=sys.stderr); [1, 2]",
})) as RecordOf;
const failed = (await execute({ code: '1/0' })) as RecordOf;
const accepted = (await execute({ code: 'for i in range(3): print(i)', background: true })) as
	components['schemas']['Execution'];
const stream = must(await GET('/reckon/v1/sessions/{session}/executions/{execution}/events', {
	params: { path: { session, execution: accepted.id } },
	parseAs: 'text',
})) as string;
const file = { params: { path: { session, path: 'a/ä 1.txt' } } };
const put = must(await PUT('/reckon/v1/sessions/{session}/files/{path}', {
	...file,
	body: 'hello',
	bodySerializer: (body: string) => body,
	headers: { 'Content-Type': 'application/octet-stream' },
}));
const got = must(await GET('/reckon/v1/sessions/{session}/files/{path}',
	{ ...file, parseAs: 'text' }));
const listed = must(await GET('/reckon/v1/sessions/{session}/files',
	{ params: { path: { session }, query: { path: 'a' } } }));
const refused = await POST('/reckon/v1/sessions/{session}/executions',
	{ ...at, body: { code: '1', timeout_s: -1 } });
const deleted = await DELETE('/reckon/v1/sessions/{session}', at);
const gone = await GET('/reckon/v1/sessions/{session}', at);
console.log(JSON.stringify({
	stdout: record.stdout,
	kinds: record.outputs?.map((output) => output.output_type),
	raised: failed.error?.name,
	events: stream.split('\n').filter((line) => line.startsWith('event: ')).at(-1)?.slice(7),
	put: put.size,
	got,
	listed: listed.files.map((entry) => entry.path),
	refused: [refused.response.status, refused.error?.error.code, true],
	deleted: deleted.response.status,
	gone: gone.response.status,
}));
