import { LeaseError } from '../../core/index.ts'
import type { Bus } from '../bus.ts'
import { Ear } from './ear.ts'
import { inTime } from './in-time.ts'
import { busClosed } from './listeners.ts'
import { dialectOf, type PostgresBusClient } from './postgres-client.ts'
import { Parts, partsOf } from './postgres-parts.ts'

export type { PostgresBusClient }

const NOTIFY = 'select pg_notify($1, part) from json_array_elements_text($2::text::json) as part'

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
  const parts = new Parts()
  const ear = new Ear(({ heard, dropped }) => {
    parts.clear()
    return listening.listen(channel, {
      heard(notification) {
        const text = parts.add(notification)
        if (text !== null) heard(text)
      },
      dropped,
    })
  })
  const sender = crypto.randomUUID()
  let sent = 0
  let waiting: string[] = []
  let turn: Promise<void> = Promise.resolve()
  let closed = false

  /** A pool has many connections, so that two statements could overtake each other: one goes after the other. */
  async function send(): Promise<void> {
    const notifications = JSON.stringify(waiting)
    waiting = []
    await inTime(() => database.query(NOTIFY, [channel, notifications]))
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
