import { LeaseError, systemClock } from '../../core/index.ts'
import type { Bus } from '../bus.ts'
import { Ear, type Hearing, type Line } from './ear.ts'
import { inTime } from './in-time.ts'
import { busClosed } from './listeners.ts'
import { dialectOf, type PostgresBusClient } from './postgres-client.ts'
import { Parts, partsOf } from './postgres-parts.ts'

export type { PostgresBusClient }

const NOTIFY = 'select pg_notify($1, part) from json_array_elements_text($2::text::json) as part'
/** A connection on which a notification takes longer than this is deaf. */
const HEAR_WITHIN_MS = 2000

export interface PostgresBusOptions {
  /** Default `holdfast_bus`. Letters, digits and underscores. */
  readonly channel?: string
  /** Where to listen, if a pooler that shares connections is before `client`: one that is connected directly. */
  readonly listen?: PostgresBusClient
}

/**
 * A bus on `NOTIFY` of Postgres. Takes a client of yours and leaves it open; it listens on a connection of its own.
 *
 * @example
 * const bus = postgresBus(new Pool({ connectionString }))
 */
export function postgresBus(client: PostgresBusClient, options: PostgresBusOptions = {}): Bus {
  const { channel = 'holdfast_bus' } = options
  if (!/^\w{1,63}$/.test(channel))
    throw new LeaseError(
      'invalid-argument',
      `channel: expected letters, digits and underscores, got ${channel}`,
    )
  const database = dialectOf(client, 'client')
  const listening = options.listen ? dialectOf(options.listen, 'listen') : database
  const notify = (notifications: readonly string[]) =>
    inTime(() => database.query(NOTIFY, [channel, JSON.stringify(notifications)]))
  const ear = new Ear((hearing) => openLine((hear) => listening.listen(channel, hear), notify, hearing))
  const sender = crypto.randomUUID()
  let sent = 0
  let waiting: string[] = []
  let turn: Promise<void> = Promise.resolve()
  let closed = false

  /** A pool has many connections, so that two statements could overtake each other: one goes after the other. */
  async function send(): Promise<void> {
    const notifications = waiting
    waiting = []
    await notify(notifications)
    ear.expectEcho()
  }

  return {
    publish(message) {
      if (closed) return Promise.reject(busClosed())
      const isFirst = waiting.length === 0
      waiting.push(...partsOf(sender, sent++, JSON.stringify(message)))
      // Whatever comes while a statement is under way goes with the next.
      if (isFirst) turn = turn.then(send, send)
      return turn
    },
    subscribe: (on) => ear.add(on),
    async close() {
      closed = true
      await ear.close()
    },
  }
}

/** A pooler that shares connections takes LISTEN without a word and delivers nothing, so the line has to hear itself. */
async function openLine(
  listen: (hearing: Hearing) => Promise<Line>,
  notify: (notifications: readonly string[]) => Promise<unknown>,
  { heard, dropped }: Hearing,
): Promise<Line> {
  const parts = new Parts()
  const probe = `probe-${crypto.randomUUID()}`
  const echo = Promise.withResolvers<boolean>()
  const line = await listen({
    heard(notification) {
      if (notification === probe) echo.resolve(true)
      const text = parts.add(notification)
      if (text !== null) heard(text)
    },
    dropped,
  })
  const cancel = systemClock.setTimer(() => echo.resolve(false), HEAR_WITHIN_MS)
  // That the probe could not be sent says nothing about the line.
  const hears = await notify([probe])
    .then(
      () => echo.promise,
      () => true,
    )
    .finally(cancel)
  if (hears) return line
  inTime(() => line.close()).catch(() => {})
  throw new LeaseError(
    'store-failed',
    'bus: notifications do not arrive. A pooler between shares connections: pass a direct one by the option listen',
  )
}
