import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { blocksOfPage, codeOf } from '../docs/blocks.ts'
import { eventually } from '../eventually.ts'
import { importExample, portOf, runExample } from './docs-example.ts'
import { browserAt, joinRoom } from './node-client.ts'

const JSON_BODY = { headers: { 'Content-Type': 'application/json' } }

const serversOf = (page: string) => blocksOfPage(page).filter(({ role }) => role === 'serve')
const EXAMPLES = [...serversOf('docs/server.md').slice(0, 1), ...serversOf('docs/embedding.md')]

describe('the pages on the server', () => {
  it.each(EXAMPLES)('has an example that serves locks and sockets: %#', async ({ code }) => {
    const [, path = ''] = /path: '(.*)\/app'/.exec(code) ?? []
    const url = `http://127.0.0.1:${await portOf(runExample(code, 0))}${path}`
    const socket = await joinRoom(url, '42')
    const browser = browserAt(url)
    const { status, body } = await browser.call('POST', '/api/documents/42/lock', { name: 'Mika' }, JSON_BODY)
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
  })

  it.each(EXAMPLES.filter(({ code }) => code.includes('attachSockets')))(
    'has an example that leaves the other paths to the host: %#',
    async ({ code }) => {
      const url = `http://127.0.0.1:${await portOf(runExample(code, 0))}`
      const textOf = async (path: string) => (await fetch(url + path)).text()
      expect(await textOf('/hello')).toBe('hello')
      expect(await textOf('/none')).not.toContain('there is nothing here')
    },
  )

  it('has an example beside another WebSocket server', async () => {
    const [example] = EXAMPLES.filter(({ code }) => code.includes('/chat'))
    const port = await portOf(runExample(example?.code ?? '', 0))
    const chat = new WebSocket(`ws://127.0.0.1:${port}/chat`)
    await once(chat, 'open')
    chat.send('hi')
    expect((await once(chat, 'message')).map(String)).toEqual(['echo: hi', 'false'])
    chat.close()
  })

  it('has a route handler for Next that serves locks below its path', async () => {
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
