import { systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { randomId } from '../../base/random-id.ts'
import type { OpenListener, PostgresListener } from '../../clients/postgres.ts'
import { stateOf } from '../../clients/postgres-errors.ts'
import { LISTENING_MARK } from './lane.ts'
import { DELIVERED_WITHIN_MS } from './options.ts'
import type { Queries } from './queries.ts'
import { SECOND } from './units.ts'

const IN_BACKGROUND = { background: true }
/** The highest number that the server can give a process. A pooler invents others. */
const MAX_PID = 2 ** 31 - 1
/** Asked on the connection itself: only its own role, or a powerful one, may see when it began. */
const OWN_PROCESS = `${LISTENING_MARK}select a.pid::text as pid, (extract(epoch from a.backend_start) * ${SECOND})::bigint::text as start
  from pg_stat_get_activity(pg_backend_pid()) a`

/** Runs queries through the ordinary client, within the limits of a call. */
export type RunQueries = <T>(work: (queries: Queries) => Promise<T>) => Promise<T>

/** An open connection that delivers notifications. */
export interface ListeningConnection {
  readonly listener: PostgresListener
  /** Where other processes reach this store: `channel pid start`, or only `channel` if the rest is unknown. */
  readonly address: string
  /** Why its waiters must poll all the same: others cannot see by their address whether their process is alive. */
  readonly polls: LeaseError | null
}

/** The server's side of a connection. `start`: when it began, in microseconds since 1970. */
interface ServerProcess {
  readonly pid: number
  readonly start: number
}

export interface NotificationsOptions {
  readonly openListener: OpenListener
  readonly run: RunQueries
  received(channel: string, payload: string): void
}

/**
 * Opens and checks the connections on which a store receives notifications, all on the same channel. A pooler that
 * shares connections accepts LISTEN without an error and delivers nothing. So the store sends a probe to itself
 * through the ordinary client, and looks whether it arrives.
 */
export class Notifications {
  readonly #options: NotificationsOptions
  readonly channel = `holdfast_${randomId().replaceAll('-', '')}`
  #probes = 0
  #onProbe: (payload: string) => void = () => {}

  constructor(options: NotificationsOptions) {
    this.#options = options
  }

  async open(broken: () => void): Promise<ListeningConnection> {
    let isBroken = false
    const listener = await this.#options.openListener({
      notified: (channel, payload) => this.#notified(channel, payload),
      dropped: () => {
        isBroken = true
        broken()
      },
    })
    try {
      await listener.listen(this.channel)
      const own = await ownProcess(listener)
      const { delivered, start } = await this.#probe(listener, own === undefined)
      if (!delivered && !isBroken)
        throw new LeaseError(
          'store-failed',
          'Postgres: notifications do not arrive, because a pooler shares the connection: pass a direct one with ' +
            'the option listen',
        )
      const found = own ?? (start === null ? null : { pid: Number(listener.pid), start })
      return found
        ? { listener, address: `${this.channel} ${found.pid} ${found.start}`, polls: null }
        : { listener, address: this.channel, polls: unknownProcess() }
    } catch (error) {
      listener.close().catch(() => {})
      throw error
    }
  }

  /** Whether the connection still delivers. A probe that could not be sent says nothing about that. */
  async delivers({ listener }: ListeningConnection): Promise<boolean> {
    const { delivered } = await this.#probe(listener).catch(() => ({ delivered: true }))
    return delivered
  }

  /** `start`: when the server process of the connection began; `null` if that is unknown, or not asked for. */
  async #probe(
    listener: PostgresListener,
    asksStart = false,
  ): Promise<{ delivered: boolean; start: number | null }> {
    const pid = asksStart && isPid(listener.pid) ? listener.pid : null
    const payload = `probe ${++this.#probes}`
    const delivered = new Promise<boolean>((resolve) => {
      this.#onProbe = (received) => received === payload && resolve(true)
    })
    const start = await this.#options.run((queries) => queries.probe(this.channel, payload, pid))
    const silence = pause(systemClock, DELIVERED_WITHIN_MS, IN_BACKGROUND)
      // After a standstill of the process, its timers run before it reads the notification that has arrived.
      .then(() => pause(systemClock, 0, IN_BACKGROUND))
      .then(() => false)
    return { delivered: await Promise.race([delivered, silence]), start }
  }

  #notified(channel: string, payload: string): void {
    if (channel === this.channel && payload.startsWith('probe ')) this.#onProbe(payload)
    else this.#options.received(channel, payload)
  }
}

/** `null`: the role may not see it. `undefined`: the driver cannot ask on this connection. */
async function ownProcess({ query }: PostgresListener): Promise<ServerProcess | null | undefined> {
  if (!query) return undefined
  try {
    const [{ pid, start } = {}] = await query(OWN_PROCESS, [])
    return isPid(Number(pid)) && Number(start) > 0 ? { pid: Number(pid), start: Number(start) } : null
  } catch (error) {
    if (stateOf(error) === undefined) throw error
    return null
  }
}

function isPid(pid: number | null): pid is number {
  return pid !== null && pid > 0 && pid <= MAX_PID
}

function unknownProcess(): LeaseError {
  return new LeaseError(
    'store-failed',
    'Postgres: waiters poll, because the server process of the listening connection is unknown; grant its role ' +
      'EXECUTE on pg_stat_get_activity(integer)',
  )
}
