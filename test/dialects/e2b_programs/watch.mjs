// Watching changes of files with E2B's JavaScript SDK.
import assert from 'node:assert/strict'
import { InvalidArgumentError, NotFoundError, Sandbox } from 'e2b'

const until = async (isSo) => {
  for (let i = 0; i < 600; i++) {
    if (await isSo()) return
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('it does not come')
}

const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
await sandbox.files.makeDir('watched/deep')
await sandbox.files.write('watched/there', 'x')

const flat = [], all = []
let flatEnd = 'goes on', allEnd = 'goes on'
const has = (events, type, name) => events.some((each) => each.type === type && each.name === name)
const flatHandle = await sandbox.files.watchDir('watched', (event) => flat.push(event), {
  onExit: (error) => { flatEnd = error },
})
await sandbox.files.watchDir('/home/user/watched', (event) => all.push(event), {
  recursive: true, includeEntry: true, timeoutMs: 0, onExit: (error) => { allEnd = error },
})

// Changes by the API and by a command are reported.
await sandbox.files.write('watched/new', 'hello')
await until(() => has(flat, 'create', 'new') && has(all, 'create', 'new'))
const { entry } = all.find((each) => each.type === 'create' && each.name === 'new')
if (entry !== undefined) assert.deepEqual([entry.path, entry.size], ['/home/user/watched/new', 5])
await sandbox.commands.run('echo more >> watched/there; chmod 600 watched/there; mkdir watched/later')
await until(() => has(flat, 'write', 'there') && has(flat, 'chmod', 'there') && has(flat, 'create', 'later'))
await until(() => has(all, 'create', 'later'))
await sandbox.files.rename('watched/new', 'watched/other')
await until(() => has(flat, 'rename', 'new') && has(flat, 'create', 'other'))
await sandbox.files.remove('watched/other')
await until(() => has(flat, 'remove', 'other'))

// Only the recursive watch reports changes in subdirectories.
await sandbox.commands.run('echo x > watched/deep/file; echo y > watched/later/file')
await until(() => has(all, 'create', 'deep/file') && has(all, 'create', 'later/file'))
await sandbox.files.write('watched/last', '')
await until(() => has(flat, 'create', 'last'))
assert(!flat.some((each) => each.name.includes('/')))

await flatHandle.stop()
await until(() => flatEnd !== 'goes on')
await sandbox.files.write('watched/unseen', '')
await until(() => has(all, 'create', 'unseen'))
assert(!has(flat, 'create', 'unseen'))

// Removing the directory ends the watch without an error.
await sandbox.files.remove('watched')
await until(() => allEnd !== 'goes on')
assert.equal(allEnd, undefined)
assert(has(all, 'remove', '.'))

await sandbox.files.write('file', '')
await assert.rejects(sandbox.files.watchDir('nope', () => {}), NotFoundError)
await assert.rejects(sandbox.files.watchDir('file', () => {}), InvalidArgumentError)
await assert.rejects(sandbox.files.watchDir('/etc', () => {}), InvalidArgumentError)

// Killing the sandbox ends the watch with an error.
await sandbox.files.makeDir('again')
let end = 'goes on'
await sandbox.files.watchDir('again', () => {}, { onExit: (error) => { end = error } })
await sandbox.kill()
await until(() => end !== 'goes on')
assert(end instanceof Error)
process.exit(0)
