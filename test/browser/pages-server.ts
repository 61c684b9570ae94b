import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/run-tool.ts'
import type { LeaseStore } from '../../src/core/index.ts'
import { createServer, openSqlite, sqliteDocuments } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'

export const ADMIN_TOKEN = 'the-token-of-an-administrator'
export const TTL_MS = 3000

export interface PagesServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly store: LeaseStore
  /** How many WebSockets are open. */
  sockets(): number
  /** What was saved of the room cannot be read any more. */
  damage(room: string): void
  /** Stops it, and starts another one on the same port and data. */
  restart(): Promise<void>
}

/** The server with its pages, as `holdfast serve` runs it, with short times. */
export async function servePages(): Promise<PagesServer> {
  const assets = join(root, 'dist/web')
  if (!existsSync(assets)) throw new Error('the pages are not built: npm run build')
  const store = memoryStore()
  const database = openSqlite(':memory:')
  const documents = sqliteDocuments(database)
  const start = (port: number) =>
    createServer({
      store,
      documents,
      assets,
      settings: {
        port,
        ttl: TTL_MS,
        heartbeat: TTL_MS / 3,
        grace: 300,
        answerWithin: 5000,
        adminTokens: [ADMIN_TOKEN],
        cookieSecrets: ['one-secret-for-every-start-of-it'],
        channelSecret: 'another-secret-for-every-start',
        channelKey: 'pages',
        rate: 0,
        logLevel: 'silent',
      },
    })
  let server = await start(0)
  const { port, url } = server
  return {
    url,
    port,
    store,
    sockets: () => server.locks.channels.sockets,
    damage(room) {
      database.prepare(`update holdfast_documents set content = '{"text":' where room = ?`).run(room)
    },
    async restart() {
      await server.stop()
      server = await start(port)
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      database.close()
    },
  }
}
