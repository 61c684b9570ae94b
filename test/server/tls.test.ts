import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { createServer } from '../../src/server/node/index.ts'
import { followCertificate } from '../../src/server/node/tls.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock } from '../../src/testing/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
afterAll(() => rmSync(directory, { recursive: true }))
const file = (name: string) => join(directory, name)
const createCertificate = (name: string) => {
  const [tlsCert, tlsKey] = [file(`${name}.pem`), file(`${name}.key`)]
  const subject = ['-subj', `/CN=${name}`, '-keyout', tlsKey, '-out', tlsCert]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  execFileSync('openssl', ['req', '-x509', '-nodes', '-days', '1', ...curve, ...subject], { stdio: 'ignore' })
  return { tlsCert, tlsKey }
}
const start = (settings: object) =>
  createServer({ store: memoryStore(), settings: { port: 0, ...settings }, log: () => {} })
const nameAt = async (port: number) => {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }) as TLSSocket
  await once(socket, 'secureConnect')
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return CN
}

describe('a server with a certificate', () => {
  it('listens with HTTPS, and its cookies are for HTTPS only', async () => {
    await using server = await start(createCertificate('first'))
    expect(server.url).toMatch(/^https:/)
    expect(await nameAt(server.port)).toBe('first')
    const socket = new WebSocket(`wss://127.0.0.1:${server.port}/app/holdfast?protocol=7`, {
      rejectUnauthorized: false,
    })
    expect(String((await once(socket, 'message'))[0])).toContain('connection_established')
    socket.close()
    const { request } = await import('node:https')
    const sent = request({
      port: server.port,
      method: 'POST',
      path: '/api/documents/a/lock',
      rejectUnauthorized: false,
    })
    const [response] = await once(sent.end(), 'response')
    expect(response.headers['set-cookie']).toEqual([expect.stringMatching(/; Secure$/)])
    response.destroy()
  })

  it('a server with a certificate uses a renewed certificate, and keeps the old one while the new one is not complete', async () => {
    const clock = new FakeClock()
    const [files, renewed] = [createCertificate('old'), createCertificate('new')]
    const server = { setSecureContext: vi.fn() } as unknown as Server
    const onError = vi.fn()
    const unfollow = followCertificate(server, files, onError, clock)
    await clock.advance(60_000)
    expect(server.setSecureContext).not.toHaveBeenCalled()
    execFileSync('cp', [renewed.tlsCert, files.tlsCert])
    utimesSync(files.tlsCert, 1, 1)
    await clock.advance(60_000)
    expect([vi.mocked(server.setSecureContext).mock.calls.length, onError.mock.calls.length]).toEqual([0, 1])
    execFileSync('cp', [renewed.tlsKey, files.tlsKey])
    await clock.advance(60_000)
    expect(server.setSecureContext).toHaveBeenCalledOnce()
    unfollow()
  })

  it('a server with a certificate does not start with files that cannot be used', async () => {
    const { tlsCert, tlsKey } = createCertificate('other')
    writeFileSync(file('broken'), 'nonsense')
    const refused = { code: 'invalid-argument', message: expect.stringMatching(/^tlsCert and tlsKey: /) }
    await expect(start({ tlsCert })).rejects.toMatchObject(refused)
    await expect(start({ tlsCert, tlsKey: file('missing') })).rejects.toMatchObject(refused)
    await expect(start({ tlsCert: file('broken'), tlsKey })).rejects.toMatchObject(refused)
  })
})
