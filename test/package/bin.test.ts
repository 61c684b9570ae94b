import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isRunning } from '../cli/holdfast.ts'
import { manifest } from './manifest.ts'
import { type Packed, pack, run } from './packed.ts'

describe('the command line of the package', () => {
  let packed: Packed
  let main: string
  beforeAll(async () => {
    packed = await pack()
    main = join(packed.consumer, 'node_modules/holdfast', manifest.bin.holdfast)
  })
  afterAll(async () => packed[Symbol.asyncDispose]())

  it('the command line of the package is a program that Node runs', async () => {
    expect(readFileSync(main, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(await run(packed.consumer, 'node', main, '--version')).toMatch(/^\d+\.\d+\.\d+/)
  })

  it('the command line of the package holds a lease without any other package', async () => {
    const command = ['run', 'job', '--', 'sh', '-c', 'echo $HOLDFAST_RESOURCE']
    expect(await run(packed.consumer, 'node', main, ...command)).toBe('job')
  })

  it('the command line of the package has a watchdog, which ends the command after holdfast was killed', async () => {
    const command = ['--', 'sh', '-c', 'echo $$; exec sleep 600']
    const holdfast = spawn('node', [main, 'run', 'watched', ...command], { cwd: packed.consumer })
    const pid = Number(await firstOf(holdfast.stdout))
    onTestFinished(() => void (isRunning(pid) && process.kill(pid, 'SIGKILL')))
    holdfast.kill('SIGKILL')
    await expect.poll(() => isRunning(pid)).toBe(false)
  })

  it('the command line of the package serves its pages', async () => {
    const server = spawn('node', [main, 'serve', '--port', '0'], { cwd: packed.consumer })
    onTestFinished(() => void server.kill('SIGKILL'))
    const [, url = ''] = /listening on (http:[^,\s]+)/.exec(await firstOf(server.stderr)) ?? []
    const { status, headers } = await fetch(`${url}/dashboard`)
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  })

  it.each([
    ['redis://localhost', 'npm install ioredis (or redis)'],
    ['postgres://localhost', 'npm install pg (or postgres)'],
    ['nats://localhost', 'npm install @nats-io/transport-node @nats-io/kv'],
  ])('the command line of the package names the package that %s needs', async (store, advice) => {
    await expect(run(packed.consumer, 'node', main, 'ls', '--store', store)).rejects.toThrow(advice)
  })
})

/** What a process prints first. */
async function firstOf(stream: NodeJS.ReadableStream): Promise<string> {
  const [chunk] = await once(stream, 'data')
  return String(chunk)
}
