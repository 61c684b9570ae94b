/** Commands whose store cannot be reached at their start, and commands whose output nobody reads. */
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../scripts/services/free-port.ts'
import { startServer } from '../../scripts/services/index.ts'
import { CONNECT_LIMIT_MS } from '../../src/cli/options.ts'
import { type CuttableProxy, cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { Holdfast, holdfast, temporaryDirectory } from './holdfast.ts'
import { startServe } from './server.ts'

const { HOLDFAST_TEST_REDIS_URL: redis = '' } = process.env

describe('a store that cannot be reached at the start', () => {
  let proxy: CuttableProxy
  let store: string
  /** The same store, without the proxy. */
  let direct: string
  beforeEach(async () => {
    const { hostname, port } = new URL(redis)
    proxy = await cuttableProxy(hostname, Number(port))
    proxy.cut()
    const prefix = crypto.randomUUID()
    store = `redis://${proxy.address}?prefix=${prefix}`
    direct = `${redis}?prefix=${prefix}`
  })
  afterEach(() => proxy[Symbol.asyncDispose]())

  it('serve answers 503 to /readyz until it is there', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const server = new Holdfast(['serve', '--port', String(port), '--store', store, '--start-within', '10m'])
    await expect.poll(() => server.stderr).toMatch(/; trying for 10m, \/readyz answers 503\n/)
    const statuses = await Promise.all(
      ['/healthz', '/readyz', '/api/documents/draft/lock'].map(
        async (path) => (await fetch(url + path)).status,
      ),
    )
    expect(statuses).toEqual([200, 503, 503])
    proxy.mend()
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200)
    expect((await fetch(`${url}/api/documents/draft/lock`, { method: 'POST' })).status).toBe(200)
  })

  it('serve gives up after the time of the setting, with the cause', async () => {
    const served = await holdfast(['serve', '--port', '0', '--store', store, '--start-within', '300ms'])
    expect(served.code).toBe(69)
    expect(served.stderr.trim().split('\n').at(-1)).toMatch(
      /redis:.*: .+; check that (it is running|Redis listens there)/,
    )
  })

  it('serve that is told to stop meanwhile exits with 0', async () => {
    const server = new Holdfast(['serve', '--port', '0', '--store', store, '--start-within', '10m'])
    await expect.poll(() => server.stderr).toMatch(/trying for/)
    server.signal('SIGTERM')
    expect((await server.ended).code).toBe(0)
  })

  it('run waits for it as long as for the lease', async () => {
    const runs = ['10m', '300ms'].map(
      (wait) => new Holdfast(['run', '--wait', wait, '--store', store, 'job', '--', 'echo', 'done']),
    )
    const [patient, hurried] = runs as [Holdfast, Holdfast]
    const startedAt = performance.now()
    const given = await hurried.ended
    expect([given.code, given.stdout]).toEqual([69, ''])
    expect(performance.now() - startedAt).toBeGreaterThan(290)
    await expect.poll(() => patient.stderr).toMatch(/; trying again\n/)
    proxy.mend()
    expect(await patient.ended).toMatchObject({ code: 0, stdout: 'done\n' })
  })

  it('run does not wait longer for a store that accepts the connection and is silent', async () => {
    const server = await startServer('redis')
    onTestFinished(() => server.stop())
    server.freeze()
    const [run, inspect] = await Promise.all([
      holdfast(['run', '--wait', '1s', '--store', server.address, 'job', '--', 'true']),
      holdfast(['inspect', '--store', server.address, 'job']),
    ])
    server.thaw()
    expect(run.code).toBe(69)
    expect(run.stderr).toContain('no answer within 2000 ms; check that Redis listens there')
    // A command that does not wait has the whole time for a connection.
    expect(inspect.stderr).toContain(`no answer within ${CONNECT_LIMIT_MS} ms`)
  })

  it('run whose wait ends while its store is silent exits', async () => {
    const server = await startServer('redis')
    onTestFinished(() => server.stop())
    const at = ['--store', server.address]
    const holder = new Holdfast([
      'run',
      ...at,
      '--ttl',
      '1h',
      'job',
      '--',
      'sh',
      '-c',
      'echo here; exec sleep 600',
    ])
    await expect.poll(() => holder.stdout).toBe('here\n')
    // Long enough for a busy machine to say that it waits.
    const waiting = new Holdfast(['run', ...at, '--wait', '8s', 'job', '--', 'true'])
    await expect.poll(() => waiting.stderr).toContain('waiting for job')
    server.freeze()
    expect((await waiting.ended).code).toBe(75)
    server.thaw()
  })

  it('watch in a pipe says that it may have missed something, and finds what it missed', async () => {
    proxy.mend()
    const watching = new Holdfast(['watch', '--store', store])
    const types = () => watching.stdout.match(/"type":"[a-z]+"/g) ?? []
    const take = (resource: string) => holdfast(['run', '--store', direct, resource, '--', 'sleep', '600'])
    void take('before')
    await expect.poll(types).toEqual(['"type":"held"'])
    proxy.cut()
    void take('meanwhile')
    await expect.poll(types).toContain('"type":"gap"')
    proxy.mend()
    await expect.poll(() => watching.stdout).toMatch(/"gap"\}\n(.*\n)*.*"type":"held","resource":"meanwhile"/)
  })

  it('run whose wait a signal ends exits with its code', async () => {
    const run = new Holdfast(['run', '--wait', '10m', '--store', store, 'job', '--', 'echo', 'done'])
    await expect.poll(() => run.stderr).toMatch(/; trying again\n/)
    run.signal('SIGTERM')
    expect(await run.ended).toMatchObject({ code: 143, stdout: '' })
  })

  it('serve is not ready while its store is away', async () => {
    proxy.mend()
    const { url } = await startServe(store)
    proxy.cut()
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(503)
    proxy.mend()
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200)
  })
})

describe('standard output that nobody reads', () => {
  it('standard output that nobody reads does not end a server', async () => {
    const { server, url } = await startServe(`sqlite:${join(temporaryDirectory(), 'holdfast.db')}`)
    server.closeOutput()
    for (let request = 0; request < 5; request++)
      expect((await fetch(`${url}/api/documents/draft/lock`, { method: 'POST' })).status).toBeLessThan(500)
    await expect.poll(() => server.stderr).toMatch(/standard output cannot be written .*log lines are lost/)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    server.signal('SIGTERM')
    expect((await server.ended).code).toBe(0)
  })

  it('standard output that nobody reads ends other commands as SIGPIPE does, never with 0', async () => {
    const doctor = new Holdfast(['doctor', 'redis://127.0.0.1:1'])
    doctor.closeOutput()
    expect((await doctor.ended).code).toBe(141)
  })

  it('standard output that nobody reads on a full disk is a failure', async () => {
    const version = new Holdfast(['--version'], { stdout: openSync('/dev/full', 'w') })
    expect(await version.ended).toMatchObject({
      code: 70,
      stderr: expect.stringMatching(/standard output cannot be written: ENOSPC/),
    })
  })
})
