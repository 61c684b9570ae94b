import type { JsonValue } from '../../core/index.ts'

/** The members on one node: channel, user id, and what others are shown of the user. */
export type Roster = Map<string, Map<string, JsonValue>>

export interface MemberChange {
  readonly type: 'added' | 'removed'
  readonly channel: string
  readonly id: string
  readonly info: JsonValue
}

/**
 * Who is in which presence channel, node by node. A user is there once, on however many nodes; every change answers
 * what others see of it.
 */
export class Rosters {
  readonly #rosters = new Map<string, Roster>()

  /** The members of a channel on all nodes. */
  members(channel: string): Map<string, JsonValue> {
    const all = new Map<string, JsonValue>()
    for (const roster of this.#rosters.values())
      for (const [id, info] of roster.get(channel) ?? []) all.set(id, info)
    return all
  }

  of(node: string): Roster {
    return this.#rosters.get(node) ?? new Map()
  }

  add(node: string, channel: string, id: string, info: JsonValue): MemberChange[] {
    const isNew = !this.#has(channel, id)
    const roster = this.of(node)
    this.#rosters.set(node, roster)
    enter(roster, channel, id, info)
    return isNew ? [{ type: 'added', channel, id, info }] : []
  }

  remove(node: string, channel: string, id: string): MemberChange[] {
    const users = this.of(node).get(channel)
    const info = users?.get(id)
    if (!users || info === undefined) return []
    users.delete(id)
    if (users.size === 0) this.of(node).delete(channel)
    return this.#has(channel, id) ? [] : [{ type: 'removed', channel, id, info }]
  }

  /** Whoever is in both is not told. */
  replace(node: string, roster: Roster): MemberChange[] {
    const before = entriesOf(this.of(node))
    const stays = ([channel, id]: Entry) => roster.get(channel)?.has(id)
    const added = entriesOf(roster).flatMap(([channel, id, info]) => this.add(node, channel, id, info))
    const gone = before.filter((entry) => !stays(entry))
    return [...added, ...gone.flatMap(([channel, id]) => this.remove(node, channel, id))]
  }

  drop(node: string): MemberChange[] {
    const changes = this.replace(node, new Map())
    this.#rosters.delete(node)
    return changes
  }

  #has(channel: string, id: string): boolean {
    for (const roster of this.#rosters.values()) if (roster.get(channel)?.has(id)) return true
    return false
  }
}

export type Entry = readonly [channel: string, id: string, info: JsonValue]

export function entriesOf(roster: Roster): Entry[] {
  return [...roster].flatMap(([channel, users]) => [...users].map(([id, info]): Entry => [channel, id, info]))
}

export function enter(roster: Roster, channel: string, id: string, info: JsonValue): void {
  const users = roster.get(channel) ?? new Map<string, JsonValue>()
  roster.set(channel, users.set(id, info))
}
