import { afterEach, describe, expect, it } from 'vitest'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { blocksOfPage, type Role } from '../docs/blocks.ts'
import { eventually } from '../eventually.ts'
import { portOf, runExample } from './docs-example.ts'

const examples = (kind: Role) => blocksOfPage('docs/websocket.md').filter(({ role }) => role === kind)

const servers: HoldfastServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

describe('the page on WebSockets', () => {
  it.each(examples('page'))(
    'the page on WebSockets has a page that hears a lock come and go: %#',
    async ({ code }) => {
      const server = await createServer({ store: memoryStore(), settings: { port: 0 }, log: () => {} })
      servers.push(server)
      const output = runExample(code, server.port)
      await eventually(() => expect(output()).toContain('listening'))
      const lock = `${server.url}/api/documents/42/lock`
      const granted = await fetch(lock, { method: 'POST' })
      const [cookie = ''] = granted.headers.getSetCookie().map((set) => set.split(';')[0])
      await fetch(lock, { method: 'DELETE', headers: { cookie } })
      await eventually(() => expect(output()).toMatch(/locked for \d+ ms\nunlocked: released/))
    },
  )

  // Only the one on Postgres needs more than this.
  const reachable = examples('serve').filter(({ code }) => !code.includes('postgres'))
  it.each(reachable)('the page on WebSockets has a server that can be reached: %#', async ({ code }) => {
    const output = runExample(code, 0)
    const port = await portOf(output)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/app/holdfast?protocol=7`)
    const first = await new Promise<string>((resolve) => {
      socket.onmessage = ({ data }) => resolve(String(data))
    })
    expect(first).toContain('pusher:connection_established')
    socket.close()
  })
})
