import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/run-tool.ts'
import type { LeaseStore } from '../../src/core/index.ts'
import type { DocumentEventName } from '../../src/protocol/index.ts'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { createServer, openSqlite, sqliteDocuments } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { PassingClock } from './passing-clock.ts'

export const ADMIN_TOKEN = 'the-token-of-an-administrator'
/** None of these passes in a test by itself: `pass` makes it. */
export const TTL_MS = 600_000
export const GRACE_MS = 60_000
const ANSWER_MS = 60_000
/** Of this much, a test may wait for a few. */
const HEARTBEAT_MS = 1000

export interface PagesServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly store: LeaseStore
  /** Lets time pass for the server and its leases. */
  pass(ms: number): void
  /** Resolves when a room is next told of this. */
  untilTold(event: DocumentEventName): Promise<void>
  /** How many WebSockets are open. */
  sockets(): number
  /** What was saved of the room cannot be read any more. */
  damage(room: string): void
  /** Stops it, and starts another one on the same port and data. `meanwhile` runs while there is none. */
  restart(meanwhile?: () => Promise<void>): Promise<void>
}

/** The server with its pages, as `holdfast serve` runs it, on a clock of its own. */
export async function servePages(): Promise<PagesServer> {
  const assets = join(root, 'dist/web')
  if (!existsSync(assets)) throw new Error('the pages are not built: npm run build')
  const clock = new PassingClock()
  const store = memoryStore({ clock })
  const bus = memoryBus()
  const database = openSqlite(':memory:')
  const documents = sqliteDocuments(database)
  const start = (port: number) =>
    createServer({
      store,
      documents,
      assets,
      clock,
      bus,
      settings: {
        hosts: ['plain.test'],
        trustProxy: '127.0.0.0/8',
        port,
        ttl: TTL_MS,
        heartbeat: HEARTBEAT_MS,
        grace: GRACE_MS,
        answerWithin: ANSWER_MS,
        // The safety net would hide that an expiry was not noticed.
        sweep: 6 * TTL_MS,
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
    pass: (ms) => clock.pass(ms),
    async untilTold(event) {
      const { promise, resolve } = Promise.withResolvers<void>()
      await using _hearing = await bus.subscribe(({ data: { name } }) => name === event && resolve())
      await promise
    },
    sockets: () => server.locks.channels.sockets,
    damage(room) {
      database.prepare(`update holdfast_documents set content = '{"text":' where room = ?`).run(room)
    },
    async restart(meanwhile) {
      await server.close()
      await meanwhile?.()
      server = await start(port)
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      database.close()
    },
  }
}
