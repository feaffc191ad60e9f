// Pausing and resuming with E2B's JavaScript SDK.
import assert from 'node:assert/strict'
import { Sandbox } from '@e2b/code-interpreter'
import { NotFoundError } from 'e2b'

const until = async (isSo) => {
  for (let i = 0; i < 600; i++) {
    if (await isSo()) return
    await new Promise((done) => setTimeout(done, 100))
  }
  throw new Error('it does not come')
}

const sandbox = await Sandbox.create({ timeoutMs: 300_000, metadata: { kind: 'sleeper' } })
await sandbox.runCode('x = 41')
await sandbox.files.write('kept.txt', 'here')
const running = await sandbox.commands.run('sleep 1000', { background: true })

assert.equal(await sandbox.pause(), true)
assert.equal(await sandbox.pause(), false)
assert.equal(await sandbox.isRunning(), false)
assert.equal((await sandbox.getInfo()).state, 'paused')
const list = async (state) =>
  (await Sandbox.list({ query: { state, metadata: { kind: 'sleeper' } } }).nextItems()).map((each) => each.sandboxId)
assert.deepEqual(await list(['paused']), [sandbox.sandboxId])
assert.deepEqual(await list(['running']), [])
assert.deepEqual(await list(['running', 'paused']), [sandbox.sandboxId])
await assert.rejects(sandbox.files.read('kept.txt'))

const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
assert(await again.isRunning())
assert.equal((await again.runCode('x + 1')).text, '42')
assert.equal(await again.files.read('kept.txt'), 'here')
assert.deepEqual((await again.commands.list()).map((each) => each.pid), [running.pid])
assert((await again.getInfo()).endAt.getTime() - Date.now() > 500_000)

// The timeout pauses the sandbox, and the next request resumes it.
const waker = await Sandbox.create({ timeoutMs: 2000, lifecycle: { onTimeout: 'pause', autoResume: true } })
await waker.runCode('y = 5')
await until(async () => (await waker.getInfo()).state === 'paused')
assert.equal((await waker.runCode('y')).text, '5')
assert.equal((await waker.getInfo()).state, 'running')
await waker.kill()

await again.pause()
assert(await again.kill())
await assert.rejects(Sandbox.connect(sandbox.sandboxId), NotFoundError)
