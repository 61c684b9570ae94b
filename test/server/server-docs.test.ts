import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { blocksOfPage, codeOf } from '../docs/blocks.ts'
import { eventually } from '../eventually.ts'
import { importExample, portOf, runExample } from './docs-example.ts'
import { browserAt, joinRoom } from './node-client.ts'
import type { Browser } from './service-bed.ts'

const JSON_BODY = { headers: { 'Content-Type': 'application/json' } }

const serversOf = (page: string) => blocksOfPage(page).filter(({ role }) => role === 'serve')
const EXAMPLES = [...serversOf('docs/server.md').slice(0, 1), ...serversOf('docs/embedding.md')]

async function signIn(browser: Browser): Promise<void> {
  expect((await browser.call('POST', '/sign-in')).status).toBe(200)
}

describe('the pages on the server', () => {
  it.each(EXAMPLES)(
    'the pages on the server has an example that serves locks and sockets: %#',
    async ({ code }) => {
      const [, path = ''] = /path: '(.*)\/app'/.exec(code) ?? []
      const url = `http://127.0.0.1:${await portOf(runExample(code, 0))}${path}`
      const browser = browserAt(url)
      if (code.includes('/sign-in')) await signIn(browser)
      const socket = await joinRoom(url, '42', browser.cookie)
      const { status, body } = await browser.call(
        'POST',
        '/api/documents/42/lock',
        { name: 'Mika' },
        JSON_BODY,
      )
      expect([status, body.you]).toEqual([200, expect.objectContaining({ name: 'Mika' })])
      await eventually(() => expect(socket.heard).toEqual(['document.locked']))
      const form = await browser.call(
        'POST',
        '/broadcasting/auth',
        'socket_id=1.1&channel_name=private-document.42',
        {
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        },
      )
      expect(form.body).toMatchObject({ auth: expect.any(String) })
      socket.close()
    },
  )

  it.each(EXAMPLES.filter(({ code }) => code.includes('attachSockets')))(
    'has an example that leaves the other paths to the host: %#',
    async ({ code }) => {
      const url = `http://127.0.0.1:${await portOf(runExample(code, 0))}`
      const textOf = async (path: string) => (await fetch(url + path)).text()
      expect(await textOf('/hello')).toBe('hello')
      expect(await textOf('/none')).not.toContain('there is nothing here')
    },
  )

  it.each(EXAMPLES.filter(({ code }) => !code.includes('/sign-in')))(
    'has an example that keeps a large document, and refuses a malformed one in JSON: %#',
    async ({ code }) => {
      const [, path = ''] = /path: '(.*)\/app'/.exec(code) ?? []
      const browser = browserAt(`http://127.0.0.1:${await portOf(runExample(code, 0))}${path}`)
      const { token } = (await browser.call('POST', '/api/documents/large/lock')).body
      const content = 'x'.repeat(300_000)
      const saved = await browser.call('PUT', '/api/documents/large', { content, token }, JSON_BODY)
      expect([saved.status, saved.body.error]).toEqual([200, undefined])
      const refused = await browser.call('PUT', '/api/documents/large', '{"content":', JSON_BODY)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_json'])
    },
  )

  it('the pages on the server has an example with users that nobody can invent, on this machine only', async () => {
    const [example] = EXAMPLES.filter(({ code }) => code.includes('/sign-in'))
    const port = await portOf(runExample(example?.code ?? '', 0))
    const url = `http://127.0.0.1:${port}`
    const browser = browserAt(url)
    const lock = (headers = {}) => browser.call('POST', '/api/documents/42/lock', undefined, { headers })
    for (const headers of [{}, { 'X-User': 'Mika' }, { Cookie: 'user=Mika' }, { Cookie: 'user=Mika.forged' }])
      expect((await lock(headers)).status).toBe(401)
    await signIn(browser)
    expect((await lock()).body.you).toMatchObject({ name: 'Mika' })
    const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
    for (const { address } of addresses.filter(({ internal, family }) => !internal && family === 'IPv4'))
      await expect(fetch(`http://${address}:${port}/hello`)).rejects.toThrow()
  })

  it('the pages on the server has an example beside another WebSocket server', async () => {
    const [example] = EXAMPLES.filter(({ code }) => code.includes('/chat'))
    const port = await portOf(runExample(example?.code ?? '', 0))
    const chat = new WebSocket(`ws://127.0.0.1:${port}/chat`)
    await once(chat, 'open')
    chat.send('hi')
    expect((await once(chat, 'message')).map(String)).toEqual(['echo: hi', 'false'])
    chat.close()
  })

  it('the pages on the server has a route handler for Next that serves locks below its path', async () => {
    const code = codeOf('docs/embedding.md', 'app/locks/[...path]/route.ts')
    const { POST, DELETE } =
      await importExample<Record<string, (request: Request) => Promise<Response>>>(code)
    const request = (method: string, cookie = '') =>
      new Request('http://localhost/locks/api/documents/42/lock', { method, headers: { cookie } })
    const locked = await POST?.(request('POST'))
    const cookie = locked?.headers.get('set-cookie')?.split(';')[0] ?? ''
    const refused = await POST?.(request('POST'))
    const released = await DELETE?.(request('DELETE', cookie))
    expect([locked?.status, refused?.status, released?.status]).toEqual([200, 409, 200])
  })
})
