import type { AuditEntry, ObservedLease } from '../../../src/protocol/index.ts'
import { holderName } from './people.ts'

/** How many renewals, and how many other events, are kept. */
const KEPT = 500

export interface DashboardEvent {
  readonly id: string
  /** On this machine's clock; of an entry of the trail, on the server's. */
  readonly at: number
  readonly resource: string
  readonly token: number
  readonly holder: string
  /** `kept`: the lease has ended, and the resource stays taken for a while. `freed`: it is taken no longer. */
  readonly what:
    | 'granted'
    | 'renewed'
    | 'released'
    | 'expired'
    | 'taken-over'
    | 'forced'
    | 'kept'
    | 'freed'
    | 'deleted'
  /** Who did it, if it was not the holder. */
  readonly by?: string | undefined
}

const WHAT: Record<AuditEntry['action'], DashboardEvent['what']> = {
  lock: 'granted',
  unlock: 'released',
  expired: 'expired',
  'take-over': 'taken-over',
  'force-release': 'forced',
  delete: 'deleted',
}

/** The events that were pushed to this page. Renewals are many, so they do not displace the others. */
export class PushedEvents {
  #lastId = 0
  #changes: DashboardEvent[] = []
  #renewals: DashboardEvent[] = []

  add(lease: ObservedLease, what: DashboardEvent['what']): void {
    const { resource, token } = lease
    const id = String(++this.#lastId)
    const list = what === 'renewed' ? this.#renewals : this.#changes
    list.push({ id, at: Date.now(), resource, token, holder: holderName(lease), what })
    // Not with every event, because it moves the whole array.
    if (list.length > 2 * KEPT) list.splice(0, list.length - KEPT)
  }

  /** The newest first. */
  read(): DashboardEvent[] {
    return newestFirst([...this.#changes.slice(-KEPT), ...this.#renewals.slice(-KEPT)])
  }
}

/** Adds what happened before the page was opened, and who did it: the push does not say that. The newest first. */
export function withTrail(
  events: readonly DashboardEvent[],
  trail: readonly AuditEntry[],
): readonly DashboardEvent[] {
  const told = new Map(trail.map((entry) => [keyOf(fromTrail(entry)), fromTrail(entry)]))
  const kept = new Set(events.flatMap((event) => (event.what === 'kept' ? event.token : [])))
  const completed = events.map((event) => {
    // A lease that kept its resource was released before, and not by force.
    const isEnd = event.what === (kept.has(event.token) ? 'freed' : 'released')
    const forced = isEnd ? told.get(keyOf({ ...event, what: 'forced' })) : undefined
    const { what, by } = forced ?? told.get(keyOf(event)) ?? event
    return { ...event, what, by }
  })
  const known = new Set(completed.map(keyOf))
  return newestFirst([...completed, ...[...told.values()].filter((event) => !known.has(keyOf(event)))])
}

function fromTrail({ at, action, resource, token, owner, owner_name, by }: AuditEntry): DashboardEvent {
  const what = WHAT[action]
  const id = `${at} ${what} ${token} ${resource}`
  return { id, at: Date.parse(at), resource, token, holder: owner_name ?? owner, what, by }
}

/** The content of a room may be deleted many times, without a token. */
function keyOf({ what, token, resource, id }: DashboardEvent): string {
  return what === 'deleted' ? id : `${what} ${token} ${resource}`
}

function newestFirst(events: DashboardEvent[]): DashboardEvent[] {
  return events.sort((one, other) => other.at - one.at)
}
