// Volumes with E2B's JavaScript SDK.
import assert from 'node:assert/strict'
import { Sandbox, Volume } from 'e2b'

const volume = await Volume.create('shared')
assert.deepEqual(await Volume.list(), [{ volumeId: volume.volumeId, name: 'shared' }])
assert.equal((await Volume.getInfo(volume.volumeId)).token, volume.token)
await assert.rejects(Volume.create('shared'), /409/)
assert.equal(await Volume.destroy('vol_none'), false)

const entry = await volume.writeFile('/notes/a.txt', 'hello', { force: true, mode: 0o640 })
assert.deepEqual([entry.name, entry.path, entry.type, entry.size, entry.mode], ['a.txt', '/notes/a.txt', 'file', 5, 0o640])
assert.ok(entry.mtime instanceof Date)
assert.equal(await volume.readFile('/notes/a.txt'), 'hello')
assert.deepEqual(await volume.readFile('/notes/a.txt', { format: 'bytes' }), new TextEncoder().encode('hello'))
await volume.writeFile('/notes/b.bin', new Blob([new Uint8Array(1 << 20)]))
assert.equal((await volume.makeDir('/notes/deep/er', { force: true })).type, 'directory')
assert.deepEqual((await volume.list('/notes')).map((each) => each.path), ['/notes/a.txt', '/notes/b.bin', '/notes/deep'])
assert.equal((await volume.updateMetadata('/notes/a.txt', { mode: 0o600 })).mode, 0o600)
assert.equal(await volume.exists('/notes/none'), false)
await assert.rejects(volume.readFile('/notes/none'), { name: /NotFound/ })

const one = await Sandbox.create({ timeoutMs: 300_000, volumeMounts: { '/mnt/shared': volume } })
const two = await Sandbox.create({ timeoutMs: 300_000, volumeMounts: { '/mnt/shared': 'shared' } })
await one.commands.run('echo from one > /mnt/shared/notes/c')
assert.equal((await two.commands.run('cat /mnt/shared/notes/c')).stdout, 'from one\n')
assert.deepEqual((await two.getInfo()).volumeMounts, [{ name: 'shared', path: '/mnt/shared' }])
await assert.rejects(Volume.destroy(volume.volumeId), /409/)
await one.kill()
await two.kill()
await volume.remove('/notes')
assert.deepEqual(await volume.list('/'), [])
assert.equal(await Volume.destroy(volume.volumeId), true)
