// Calls of E2B's JavaScript SDK: the control plane, code, files, commands, terminals.
import assert from 'node:assert/strict'
import { Sandbox } from '@e2b/code-interpreter'
import { CommandExitError, InvalidArgumentError, NotFoundError } from 'e2b'

const until = async (isSo) => {
  for (let i = 0; i < 600; i++) {
    if (await isSo()) return
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('it does not come')
}

const sandbox = await Sandbox.create({ timeoutMs: 300_000, metadata: { 'user id': 'a&b' }, envs: { FROM_CREATE: '1' } })

// control plane
const info = await sandbox.getInfo()
assert.equal(info.sandboxId, sandbox.sandboxId)
assert.deepEqual(info.metadata, { 'user id': 'a&b' })
assert(await sandbox.isRunning())
await sandbox.setTimeout(600_000)
assert((await sandbox.getInfo()).endAt > info.endAt)
const listed = await Sandbox.list({ query: { metadata: { 'user id': 'a&b' } } }).nextItems()
assert.deepEqual(listed.map((each) => each.sandboxId), [sandbox.sandboxId])
const second = await Sandbox.connect(sandbox.sandboxId)
assert.equal(second.sandboxId, sandbox.sandboxId)
assert(Array.isArray(await sandbox.getMetrics()))

// code
const out = []
const execution = await sandbox.runCode('print("hello"); import sys; print("no", file=sys.stderr); 6 * 7', {
  onStdout: (message) => out.push(message.line),
})
assert.deepEqual(execution.logs, { stdout: ['hello\n'], stderr: ['no\n'] })
assert.deepEqual(out, ['hello\n'])
assert.equal(execution.text, '42')
assert.equal((await sandbox.runCode('1/0')).error.name, 'ZeroDivisionError')
assert.equal((await sandbox.runCode('import os; os.environ["FROM_CREATE"]')).text, '1')
assert.equal((await sandbox.runCode('os.environ["OWN"]', { envs: { OWN: '2' } })).text, '2')
assert.equal((await sandbox.runCode('os.environ.get("OWN", 0)')).text, '0')
const context = await sandbox.createCodeContext({ cwd: '/home/user' })
await sandbox.runCode('y = 5', { context })
assert.equal((await sandbox.runCode('y', { context })).text, '5')
assert.equal((await sandbox.runCode('y')).error.name, 'NameError')
assert.equal((await sandbox.listCodeContexts()).at(-1).id, context.id)
await sandbox.restartCodeContext(context)
assert.equal((await sandbox.runCode('y', { context })).error.name, 'NameError')
await sandbox.removeCodeContext(context)
await assert.rejects(sandbox.runCode('1', { context }), NotFoundError)
assert.equal((await sandbox.runCode('echo $((6*7))', { language: 'bash' })).logs.stdout.join(''), '42\n')
// After a timeout of the client the kernel is interrupted, and the next cell runs.
await assert.rejects(sandbox.runCode('z = 1\nimport time\ntime.sleep(300)', { timeoutMs: 1000 }))
assert.equal((await sandbox.runCode('z')).text, '1')

// files
const written = await sandbox.files.write('hello.txt', 'hello')
assert.deepEqual([written.path, written.name, written.type], ['/home/user/hello.txt', 'hello.txt', 'file'])
assert.equal(await sandbox.files.read('hello.txt'), 'hello')
const bytes = new Uint8Array(3_000_000).map((_, i) => i % 251)
await sandbox.files.write('deep/er/big.bin', bytes.buffer)
assert.deepEqual(await sandbox.files.read('deep/er/big.bin', { format: 'bytes' }), bytes)
await sandbox.files.write([{ path: 'many/a', data: '1' }, { path: 'many/b', data: '2' }])
assert.deepEqual((await sandbox.files.list('many')).map((each) => each.name), ['a', 'b'])
assert.equal(await sandbox.files.read('many/b'), '2')
assert(await sandbox.files.exists('deep'))
assert.equal((await sandbox.files.getInfo('hello.txt')).size, 5)
assert.equal(await sandbox.files.makeDir('made'), true)
assert.equal(await sandbox.files.makeDir('made'), false)
await sandbox.files.rename('hello.txt', 'made/moved.txt')
await sandbox.files.remove('made')
assert(!(await sandbox.files.exists('made')))
await assert.rejects(sandbox.files.read('nope'), NotFoundError)
assert.match(await sandbox.files.read('/etc/passwd'), /user:x:1000/)
await assert.rejects(sandbox.files.read('/tmp'), InvalidArgumentError)
const line = 'the same line\n'.repeat(50_000)
assert.equal((await sandbox.files.write('/tmp/packed.txt', line, { gzip: true })).path, '/tmp/packed.txt')
assert.equal(await sandbox.files.read('/tmp/packed.txt', { gzip: true }), line)
await sandbox.files.write('packed.txt', line, { gzip: true, useOctetStream: true })
assert.equal(await sandbox.files.read('packed.txt', { gzip: true }), line)
assert.equal((await sandbox.files.getInfo('packed.txt')).size, line.length)
await sandbox.files.write('noted.txt', 'x', { metadata: { author: 'ann' } })
const noted = await sandbox.files.getInfo('noted.txt')
assert([undefined, 'ann'].includes(noted.metadata?.author)) // undefined: this version of the SDK has no metadata
if ('metadata' in noted) assert.equal(noted.metadata.author, 'ann')
await sandbox.files.write('seen.txt', 'by both')
assert.equal(await (await fetch(await sandbox.downloadUrl('seen.txt'))).text(), 'by both')
const form = new FormData()
form.append('file', new Blob(['signed']), 'ignored')
assert.equal((await fetch(await sandbox.uploadUrl('signed.txt'), { method: 'POST', body: form })).status, 200)
assert.equal(await sandbox.files.read('signed.txt'), 'signed')

// commands
const done = await sandbox.commands.run('echo out; echo err >&2; pwd; echo $OWN', { envs: { OWN: '2' } })
assert.deepEqual([done.exitCode, done.stdout, done.stderr], [0, 'out\n/home/user\n2\n', 'err\n'])
await assert.rejects(sandbox.commands.run('exit 3'), (error) => error instanceof CommandExitError && error.exitCode === 3)
const handle = await sandbox.commands.run('while read line; do echo got $line; done', { background: true, stdin: true })
assert.deepEqual((await sandbox.commands.list()).map((each) => each.pid), [handle.pid])
await sandbox.commands.sendStdin(handle.pid, 'first\n')
await until(() => handle.stdout === 'got first\n')
const other = await sandbox.commands.connect(handle.pid)
await sandbox.commands.sendStdin(handle.pid, 'second\n')
await until(() => other.stdout === 'got second\n')
assert(await sandbox.commands.kill(handle.pid))
await assert.rejects(handle.wait(), CommandExitError)
await until(async () => (await sandbox.commands.kill(handle.pid)) === false)

let screen = ''
const terminal = await sandbox.pty.create({
  cols: 100, rows: 30, onData: (data) => { screen += Buffer.from(data).toString() },
})
await sandbox.pty.sendInput(terminal.pid, Buffer.from('stty size\n'))
await until(() => screen.includes('30 100'))
await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 40 })
await sandbox.pty.sendInput(terminal.pid, Buffer.from('stty size; exit\n'))
await until(() => screen.includes('40 120'))
await terminal.wait()

// the end
const running = sandbox.runCode('import time; time.sleep(300)')
const ended = assert.rejects(running)
await new Promise((next) => setTimeout(next, 500))
assert.equal(await sandbox.kill(), true)
await ended
assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
assert.equal(await sandbox.isRunning(), false)
await assert.rejects(sandbox.runCode('1'))
await assert.rejects(sandbox.commands.run('true'))

// The SDK leaks the timer of a command that did not start, which would keep node running.
process.exit(0)
