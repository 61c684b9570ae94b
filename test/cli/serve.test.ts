import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HOLDFAST, Holdfast, holdfast, temporaryDirectory } from './holdfast.ts'
import { startServe, TOKEN } from './server.ts'

describe('holdfast serve', () => {
  it('serves locks that outlive it, and that the other commands see', async () => {
    const store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
    const first = await startServe(store, '--ttl', '1h')
    const answer = await fetch(`${first.url}/api/documents/draft/lock`, { method: 'POST' })
    expect(answer.status).toBe(200)
    expect((await holdfast(['ls', '--store', store])).stdout).toMatch(/^document:draft\t/)
    first.server.signal('SIGTERM')
    expect((await first.server.ended).code).toBe(0)

    const second = await startServe(store, '--ttl', '1h')
    const state = await fetch(`${second.url}/api/documents/draft/lock`)
    expect(await state.json()).toMatchObject({ is_locked: true })
    await holdfast(['release', '--force', '--yes', '--store', store, 'document:draft'])
    const freed = await fetch(`${second.url}/api/documents/draft/lock`)
    expect(await freed.json()).toMatchObject({ is_locked: false })
    second.server.signal('SIGINT')
    expect((await second.server.ended).code).toBe(0)
  })

  it('is itself a store for the other commands', async () => {
    const store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
    const { url, store: remote } = await startServe(store)
    const inner = `${HOLDFAST} ls --store ${remote}`
    const { code, stdout } = await holdfast(['run', '--store', remote, 'job', '--', 'sh', '-c', inner])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^job\t/)])
    const doctor = await holdfast(['doctor', remote])
    expect(doctor).toMatchObject({ code: 0, stdout: expect.stringMatching(/✓ push /) })
    expect(doctor.stdout).not.toContain(TOKEN)
    expect(await holdfast(['ls', '--store', url])).toMatchObject({
      code: 70,
      stderr: expect.stringMatching(/wants a token; name one of its lease-tokens/),
    })
  })

  it('tells where it listens in one line of JSON with --json', async () => {
    const directory = temporaryDirectory()
    const store = `file:${join(directory, 'locks')}`
    const server = new Holdfast(['serve', '--json', '--port', '0', '--store', store])
    await expect.poll(() => server.stderr).toMatch(/\n/)
    server.signal('SIGTERM')
    const { code, stderr } = await server.ended
    expect(code).toBe(0)
    expect(JSON.parse(stderr)).toEqual({
      at: expect.stringMatching(/Z$/),
      type: 'listening',
      text: expect.stringMatching(/^listening on http:/),
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      store,
      pages: null,
      contents: 'memory',
    })
  })

  it('says that its port is taken, and which setting is wrong', async () => {
    const { url, server } = await startServe(`file:${temporaryDirectory()}`)
    // A line of its own, which may come after the one with the address.
    await expect.poll(() => server.stderr).toContain('contents are kept in memory')
    const cwd = temporaryDirectory()
    const [taken, wrong] = await Promise.all([
      holdfast(['serve', '--port', new URL(url).port], { cwd }),
      holdfast(['serve', '--port', 'none', '--ttl', '1ms'], { cwd }),
    ])
    expect(taken).toMatchObject({ code: 69, stderr: expect.stringContaining('or choose another port') })
    expect(wrong).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/--port: expected .*--ttl: expected/s),
    })
  })
})
