// Templates built with E2B's JavaScript SDK.
import assert from 'node:assert/strict'
import { mkdtempSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BuildError, Sandbox, Template, waitForFile } from 'e2b'

const context = mkdtempSync(join(tmpdir(), 'template-'))
mkdirSync(join(context, 'app/pages'), { recursive: true })
writeFileSync(join(context, 'app/main.js'), 'console.log(1)\n')
writeFileSync(join(context, 'app/pages/index.html'), '<p>')
writeFileSync(join(context, 'notes.txt'), 'notes')

const entries = []
const template = Template({ fileContextPath: context })
  .fromBaseImage()
  .setEnvs({ COLOUR: 'red', BOTH: '${COLOUR}-er' })
  .setWorkdir('/home/user/project')
  .copy('app', 'src')
  .copy('notes.txt', 'kept/', { mode: 0o640 })
  .runCmd('echo "$BOTH" > made.txt; echo out; echo err >&2')
  .setStartCmd('(cat made.txt; pwd) > /tmp/half; mv /tmp/half /tmp/up; sleep 1000', waitForFile('/tmp/up'))
const built = await Template.build(template, 'of-node:v1', { tags: ['stable'], onBuildLogs: (entry) => entries.push(entry) })
assert.deepEqual(built.tags, ['v1', 'stable'])
const told = entries.map((entry) => `${entry.level} ${entry.message}`)
for (const wanted of ['info out', 'warn err', 'info COPY app src', 'info WORKDIR /home/user/project']) assert.ok(told.includes(wanted), told.join('\n'))

const sandbox = await Sandbox.create('of-node:stable', { timeoutMs: 300_000 })
assert.equal((await sandbox.commands.run('pwd; cat made.txt src/main.js src/pages/index.html; stat -c %a kept/notes.txt; echo $COLOUR')).stdout,
  '/home/user/project\nred-er\nconsole.log(1)\n<p>640\nred\n')
assert.equal(await sandbox.files.read('/tmp/up'), 'red-er\n/home/user/project\n')
await sandbox.kill()

assert.equal(await Template.exists('of-node:v1'), true)
assert.equal(await Template.exists('of-node'), false)
assert.deepEqual((await Template.assignTags('of-node:v1', ['default', 'latest'])).tags, ['default', 'latest'])
assert.deepEqual((await Template.getTags('of-node')).map((each) => each.tag).sort(), ['default', 'latest', 'stable', 'v1'])
await Template.removeTags('of-node', ['v1', 'stable'])
assert.deepEqual((await Template.getTags('of-node')).map((each) => each.tag).sort(), ['default', 'latest'])
await assert.rejects(Sandbox.create('of-node:v1'), /template/)

await assert.rejects(Template.build(Template().fromBaseImage().runCmd('true').runCmd('exit 7'), 'failed'),
  (error) => error instanceof BuildError && /exit 7: exit status 7/.test(error.message))
await assert.rejects(Template.build(Template().fromUbuntuImage('24.04'), 'failed'), /no images/)

const behind = await Template.buildInBackground(Template().fromTemplate('of-node').setReadyCmd('true'), 'behind')
let status
do {
  status = await Template.getBuildStatus(behind, { logsOffset: 0 })
  assert.ok(['building', 'ready'].includes(status.status), JSON.stringify(status))
} while (status.status !== 'ready')
assert.match(status.logEntries[0].message, /^template of-node/)
const second = await Sandbox.create('behind', { timeoutMs: 300_000 })
assert.equal((await second.commands.run('cat made.txt')).stdout, 'red-er\n')
await second.kill()
