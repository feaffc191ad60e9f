// Snapshots with E2B's JavaScript SDK.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

async function ids(paginator) {
  const found = []
  while (paginator.hasNext) found.push(...(await paginator.nextItems()).map((each) => each.snapshotId))
  return found
}

const sandbox = await Sandbox.create({ timeoutMs: 300_000, envs: { COLOUR: 'red' } })
await sandbox.files.write('notes/a.txt', 'as it was')
const first = await sandbox.createSnapshot()
assert.match(first.snapshotId, /^sn_/)
assert.deepEqual(first.names, [])
await sandbox.files.write('notes/a.txt', 'changed since')
const second = await Sandbox.createSnapshot(sandbox.sandboxId, { name: 'trained' })
assert.deepEqual(second.names, ['trained'])
assert.deepEqual(await ids(Sandbox.listSnapshots({ limit: 1 })), [second.snapshotId, first.snapshotId])
assert.deepEqual(await ids(sandbox.listSnapshots()), [second.snapshotId, first.snapshotId])
await sandbox.kill()

const one = await Sandbox.create(first.snapshotId, { timeoutMs: 300_000 })
const two = await Sandbox.create('trained', { timeoutMs: 300_000 })
assert.equal(await one.files.read('notes/a.txt'), 'as it was')
assert.equal(await two.files.read('notes/a.txt'), 'changed since')
assert.equal((await one.commands.run('echo $COLOUR')).stdout, 'red\n')
assert.deepEqual(await ids(one.listSnapshots()), [])
for (const each of [first, second]) {
  assert.equal(await Sandbox.deleteSnapshot(each.snapshotId), true)
  assert.equal(await Sandbox.deleteSnapshot(each.snapshotId), false)
}
assert.deepEqual(await ids(Sandbox.listSnapshots()), [])
assert.equal(await one.files.read('notes/a.txt'), 'as it was')
await assert.rejects(Sandbox.create(first.snapshotId), /snapshot/)
await one.kill()
await two.kill()
