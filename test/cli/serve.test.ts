import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { browserAt } from '../server/node-client.ts'
import { HOLDFAST, Holdfast, holdfast, temporaryDirectory } from './holdfast.ts'
import { startServe, TOKEN } from './server.ts'

describe('holdfast serve', () => {
  it('holdfast serve serves locks that outlive it and that other commands see', async () => {
    const store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
    const first = await startServe(store, '--ttl', '1h', '--origins', 'http://a.test:80,https://b.test/')
    await expect.poll(() => first.server.stderr).toContain('may call: http://a.test, https://b.test\n')
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

  it('holdfast serve is a store for other commands', async () => {
    const store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
    const { url, store: remote } = await startServe(store)
    const inner = `${HOLDFAST} ls --store ${remote}`
    const { code, stdout } = await holdfast(['run', '--store', remote, 'job', '--', 'sh', '-c', inner])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^job\t/)])
    const doctor = await holdfast(['doctor', remote])
    expect(doctor).toMatchObject({ code: 0, stdout: expect.stringMatching(/✓ push /) })
    expect(doctor.stdout).not.toContain(TOKEN)
    const { host } = new URL(url)
    for (const [address, problem] of [
      [url, 'requires a token'],
      [`http://a-wrong-token@${host}`, 'does not know this token'],
    ] as const)
      expect(await holdfast(['ls', '--store', address])).toMatchObject({
        code: 70,
        stderr: expect.stringContaining(
          `${url} ${problem}; give one of its leaseTokens, as in http://TOKEN@${host}`,
        ),
      })
  })

  it('holdfast serve prints one line of JSON with --json when it listens', async () => {
    const directory = temporaryDirectory()
    const store = `file:${join(directory, 'locks')}`
    const server = new Holdfast([
      'serve',
      '--json',
      '--port',
      '0',
      '--store',
      store,
      '--origins',
      'HTTP://App.test/',
    ])
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
      origins: ['http://app.test'],
      pages: null,
    })
  })

  it.each(['sqlite', 'file'])(
    'keeps contents of a %s store in a file that others cannot read',
    async (kind) => {
      const path = join(temporaryDirectory(), 'locks')
      const { url, server } = await startServe(`${kind}:${path}`)
      const first = browserAt(url)
      const { token } = (await first.call('POST', '/api/documents/draft/lock')).body
      await first.call('PUT', '/api/documents/draft', { content: 'text', token })
      server.signal('SIGKILL')
      await server.ended
      const { url: next } = await startServe(`${kind}:${path}`)
      expect((await browserAt(next).call('GET', '/api/documents/draft')).body.content).toBe('text')
      const database = kind === 'file' ? `${path}.db` : path
      const modes = [database, `${database}-wal`, `${path}.secrets`].map(
        (file) => statSync(file).mode & 0o777,
      )
      expect(modes).toEqual([0o600, 0o600, 0o600])
    },
  )

  it('holdfast serve does not serve the locks of another server, which keeps the contents', async () => {
    const { store } = await startServe(`sqlite:${join(temporaryDirectory(), 'holdfast.db')}`)
    expect(await holdfast(['serve', '--port', '0', '--store', store])).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/serve needs a store of its own; http:.* is another server/),
    })
  })

  it('exits at once after a second signal, also a different one', async () => {
    const store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
    const { url, server } = await startServe(store, '--stop-within', '10m')
    // A request whose body does not arrive keeps the server from closing.
    const request = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void request.destroy())
    request.on('error', () => {})
    request.write('POST /api/documents/draft/lock HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n')
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200)
    server.signal('SIGINT')
    await expect.poll(() => fetch(url).catch(() => 'refused')).toBe('refused')
    server.signal('SIGTERM')
    expect((await server.ended).code).toBe(143)
  })

  it('holdfast serve reports a port that is in use, and a wrong setting', async () => {
    const { url } = await startServe(`file:${join(temporaryDirectory(), 'locks')}`)
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
