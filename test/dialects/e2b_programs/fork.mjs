// Forks with E2B's JavaScript SDK.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
await sandbox.files.write('a.txt', 'as it was')
const [one, two] = await sandbox.fork({ timeoutMs: 300_000, count: 2 })
await one.files.write('a.txt', 'its own')
assert.deepEqual(await Promise.all([sandbox, one, two].map((each) => each.files.read('a.txt'))), ['as it was', 'its own', 'as it was'])
const handle = await sandbox.commands.run('sleep 1000', { background: true })
await assert.rejects(Sandbox.fork(sandbox.sandboxId), new RegExp(`process ${handle.pid}`))
for (const each of [sandbox, one, two]) await each.kill()
