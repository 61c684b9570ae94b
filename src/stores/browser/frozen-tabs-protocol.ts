/**
 * A Web Lock has no TTL, so a frozen tab would keep its locks without limit. A tab that holds locks therefore answers
 * when a waiter asks whether it still runs, and a waiter takes the lock of a tab that does not answer.
 *
 * While a tab holds locks, it also holds its *tag*: a lock whose name contains a random id. The browser says which
 * client holds which lock, so a waiter finds the tags of the client that it waits for, and asks for them over a
 * BroadcastChannel. A client without a tag cannot answer, because it is an older version or another program: it keeps
 * its locks.
 *
 *     waiter ── ask: tag ──▶ holder        in each round
 *     waiter ◀── alive: tag ── holder      from its event loop: browsers delay the timers of hidden pages, not messages
 *
 * Only a holder that was silent in every round loses the lock. So neither a late message nor a waiter that was itself
 * asleep for a round costs a live holder its lock.
 */
import type { Clock, Moment } from '../../base/clock.ts'
import type { pauseUntilAborted } from '../../base/pause.ts'
import { ROUNDS } from './options.ts'
import type { WebLocks } from './platform.ts'

export type IsSilent = () => Promise<boolean>

/** The holder of a lock that somebody here waits for. */
export interface Holder {
  /** The full name of the lock. */
  readonly name: string
  /** Whether somebody here waits for the lock now. Default: until the signal aborts. */
  readonly isAwaited?: () => boolean
  /**
   * Takes the lock away. `isSilent` must be asked right before, while no other tab can do the same. Default: steals it and
   * lets it go, so that the first in the browser's queue gets it.
   */
  readonly evict?: (isSilent: IsSilent) => Promise<unknown>
}

export interface Protocol {
  /** The ids have changed. */
  update(): void
  wasSilent(): boolean
  /** Rejects when the signal aborts, or if the browser refuses to say who holds the lock. */
  watch(holder: Holder, signal: AbortSignal): Promise<void>
}

interface Message {
  readonly ask?: string
  readonly alive?: string
}

/** `ids`: for whom this tab holds locks. */
export function createProtocol(
  locks: () => WebLocks,
  prefix: string,
  clock: Clock,
  takeoverMs: number,
  ids: ReadonlySet<string>,
  pause: typeof pauseUntilAborted,
): Protocol {
  // No resource has control characters.
  const tagPrefix = `${prefix}\u0004`
  const roundMs = takeoverMs / ROUNDS
  const moment = (): Moment => ({ mono: clock.monotonic(), wall: clock.now() })
  const open = () => new BroadcastChannel(tagPrefix)
  let stopAnswering: (() => void) | undefined
  /** When the event loop last ran. */
  let ranAt: Moment
  /** By the name of a lock: who holds it, and in how many rounds in a row it was silent. Kept from one wait to the next. */
  const suspects = new Map<string, { readonly client: string; silentRounds: number }>()

  function answer(): () => void {
    // Pages that have Web Locks also have this.
    const tag = crypto.randomUUID()
    const channel = open()
    channel.onmessage = ({ data }) => {
      if (Object(data).ask === tag) channel.postMessage({ alive: tag } satisfies Message)
    }
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    locks()
      .request(tagPrefix + tag, {}, () => ended)
      // Without a tag, this tab only keeps its locks for longer.
      .catch(() => {})
    let cancel = () => {}
    const tick = () => {
      ranAt = moment()
      cancel = clock.setTimer(tick, roundMs, true)
    }
    tick()
    return () => {
      cancel()
      end()
      channel.close()
    }
  }

  /** Behind a gate: another waiter may be about to do the same, and would take the lock from the next holder. */
  function stealFor(name: string, isSilent: IsSilent): Promise<unknown> {
    return locks().request(`${name}\u0005`, { ifAvailable: true }, async (gate) => {
      if (gate && (await isSilent())) await locks().request(name, { steal: true }, () => {})
    })
  }

  async function holderOf(name: string): Promise<{ client: string; tags: readonly string[] }> {
    const { held = [] } = await locks().query()
    const client = held.find((lock) => lock.name === name && lock.mode !== 'shared')?.clientId ?? ''
    const own = client ? held.filter((lock) => lock.clientId === client) : []
    const tags = own.flatMap(({ name = '' }) =>
      name.startsWith(tagPrefix) ? name.slice(tagPrefix.length) : [],
    )
    return { client, tags }
  }

  return {
    update() {
      if (ids.size > 0) stopAnswering ??= answer()
      else {
        stopAnswering?.()
        stopAnswering = undefined
      }
    },

    wasSilent() {
      if (!stopAnswering) return false
      const { mono, wall } = ranAt
      ranAt = moment()
      return Math.max(ranAt.mono - mono, ranAt.wall - wall) > takeoverMs - roundMs
    },

    async watch({ name, isAwaited = () => true, evict = stealFor.bind(null, name) }, signal) {
      const answers = new Set<unknown>()
      const channel = open()
      channel.onmessage = ({ data }) => answers.add(Object(data).alive)
      try {
        for (;;) {
          const { client, tags } = await holderOf(name)
          const known = suspects.get(name)
          const suspect = known?.client === client ? known : { client, silentRounds: 0 }
          suspects.set(name, suspect)
          if (isAwaited()) for (const ask of tags) channel.postMessage({ ask } satisfies Message)
          await pause(clock, roundMs, signal)
          const hasAnswered = () => tags.some((tag) => answers.has(tag))
          const isSilent = isAwaited() && tags.length > 0 && !hasAnswered()
          suspect.silentRounds = isSilent ? suspect.silentRounds + 1 : 0
          if (suspect.silentRounds >= ROUNDS) {
            suspects.delete(name)
            await evict(
              async () => (await holderOf(name)).client === client && !hasAnswered() && !signal.aborted,
            )
          }
          answers.clear()
        }
      } finally {
        channel.close()
      }
    },
  }
}
