import { expectOptions, refuse } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { randomId } from '../../base/random-id.ts'
import {
  type OpenListener,
  openListenerOf,
  type PostgresClient,
  postgresDatabase,
} from '../../clients/postgres.ts'
import { postgresError } from '../../clients/postgres-errors.ts'
import type { Bus } from '../bus.ts'
import { BUS_PROBE_LIMIT_MS } from '../options.ts'
import { createBus, inTurns } from './create-bus.ts'
import { type Connection, type ConnectionHooks, ListeningConnection } from './listening-connection.ts'
import { POSTGRES_CHANNEL, type PostgresBusOptions } from './options.ts'
import { Parts, partsOf } from './postgres-parts.ts'

const NOTIFY = 'select pg_notify($1, part) from json_array_elements_text($2::text::json) as part'
/** As long as an identifier of Postgres may be. */
const CHANNEL = /^\w{1,63}$/

/**
 * A bus on `NOTIFY` of Postgres. It uses your client and leaves it open, and listens on a separate connection.
 *
 * @example
 * const bus = postgresBus(new Pool({ connectionString }))
 */
export function postgresBus(client: PostgresClient, options: PostgresBusOptions = {}): Bus & AsyncDisposable {
  const database = postgresDatabase(client)
  expectOptions(options, { channel: 1, listen: 1 })
  const { channel = POSTGRES_CHANNEL, listen } = options
  if (typeof channel !== 'string' || !CHANNEL.test(channel))
    refuse('channel', '1 to 63 letters, digits and underscores', channel)
  if (listen !== undefined) postgresDatabase(listen, 'listen')
  const openListener = openListenerOf(client, listen)

  return createBus({ name: 'Postgres', explain: postgresError }, (context) => {
    const notify = (notifications: readonly string[]) =>
      context.calls.run(() => database.query(NOTIFY, [channel, JSON.stringify(notifications)]))
    const listening = new ListeningConnection({
      ...context,
      open: (hooks) => listenTo(channel, openListener, notify, hooks),
    })
    const sender = randomId()
    let sent = 0
    const send = inTurns(async (notifications) => {
      await notify(notifications)
      listening.expectEcho()
    })
    return {
      send: (text) => send(...partsOf(sender, sent++, text)),
      listen: () => listening.open(),
      unlisten: () => listening.closeIfUnneeded(),
    }
  })
}

/** A pooler that shares connections accepts LISTEN and delivers nothing, so the connection must receive a probe. */
async function listenTo(
  channel: string,
  openListener: OpenListener,
  notify: (notifications: readonly string[]) => Promise<unknown>,
  { received, broken }: ConnectionHooks,
): Promise<Connection> {
  const parts = new Parts()
  const probe = `probe-${randomId()}`
  const arrived = Promise.withResolvers<boolean>()
  const listener = await openListener({
    notified(_, payload) {
      if (payload === probe) arrived.resolve(true)
      const text = parts.add(payload)
      if (text !== null) received(text)
    },
    dropped: broken,
  })
  try {
    await listener.listen(channel)
    // If the probe cannot be sent, the connection may still be good.
    const isSent = await notify([probe]).then(
      () => true,
      () => false,
    )
    const isLate = pause(systemClock, BUS_PROBE_LIMIT_MS, { background: true }).then(() => false)
    if (isSent && !(await Promise.race([arrived.promise, isLate]))) throw probeLost()
    return listener
  } catch (error) {
    listener.close().catch(() => {})
    throw error
  }
}

function probeLost(): LeaseError {
  return new LeaseError(
    'store-failed',
    'Postgres: notifications do not arrive, because a pooler shares the connections: pass a client with a direct connection as the option listen',
  )
}
