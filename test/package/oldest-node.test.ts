import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installFolder } from '../../scripts/install-folder.ts'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'
import { oneAtATime, type Packed, pack, run } from './packed.ts'

const folder = join(root, 'test/oldest-node')
const node = join(folder, 'node_modules/node/bin/node')

/** What newer versions accept may fail here: `node:sqlite` before 22.20 binds nothing to `?1`. */
describe('the oldest Node that the package supports', () => {
  let packed: Packed
  beforeAll(async () => {
    await oneAtATime('oldest-node', () => installFolder(folder))
    packed = await pack()
    await cp(join(folder, 'program.mjs'), join(packed.consumer, 'program.mjs'))
  })
  afterAll(async () => packed?.[Symbol.asyncDispose]())

  it('the oldest Node is the version that package.json and the page about installing name', async () => {
    const version = (await run(root, node, '--version')).replace(/^v(\d+\.\d+)\..*$/, '$1')
    expect(manifest.engines.node).toBe(`>=${version}`)
    expect(await readFile(join(root, 'docs/install.md'), 'utf8')).toContain(`${version} or newer`)
  })

  it('the oldest Node runs leases, jobs, guard and server on SQLite, and leases in files', async () => {
    const printed = await run(packed.consumer, node, 'program.mjs')
    expect(printed.split('\n')).toEqual(['sqlite', 'file', 'once', 'guard', 'server'])
  })

  it('the oldest Node runs the command line', async () => {
    const main = join(packed.consumer, 'node_modules/holdfast', manifest.bin.holdfast)
    const inside = `"${node}" "${main}" ls --json`
    const listed = await run(packed.consumer, node, main, 'run', 'job', '--', 'sh', '-c', inside)
    expect(listed).toContain('"job"')
    expect(await run(packed.consumer, node, main, 'doctor')).toContain('can be used')
  })
})
