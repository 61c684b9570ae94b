import type { JsonValue } from '../../base/records.ts'

/** The members on one node: by channel and user id, what others see of the user. */
export type Roster = Map<string, Map<string, JsonValue>>

export type MemberEntry = readonly [channel: string, id: string, info: JsonValue]

export interface MemberChange {
  readonly type: 'added' | 'removed'
  readonly channel: string
  readonly id: string
  readonly info: JsonValue
}

/**
 * Who is in which presence channel, by node. A user is one member, however many nodes it is connected to. Each change
 * returns what others see of it.
 */
export class Rosters {
  readonly #byNode = new Map<string, Roster>()

  /** The members of a channel on all nodes. */
  members(channel: string): Map<string, JsonValue> {
    const all = new Map<string, JsonValue>()
    for (const roster of this.#byNode.values())
      for (const [id, info] of roster.get(channel) ?? []) all.set(id, info)
    return all
  }

  of(node: string): Roster {
    return this.#byNode.get(node) ?? new Map()
  }

  add(node: string, channel: string, id: string, info: JsonValue): MemberChange[] {
    const isNew = !this.#has(channel, id)
    const roster = this.of(node)
    this.#byNode.set(node, roster)
    addEntry(roster, channel, id, info)
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

  /** A user who is in both rosters causes no change. */
  replace(node: string, roster: Roster): MemberChange[] {
    const before = entriesOf(this.of(node))
    const added = entriesOf(roster).flatMap(([channel, id, info]) => this.add(node, channel, id, info))
    const gone = before.filter(([channel, id]) => !roster.get(channel)?.has(id))
    return [...added, ...gone.flatMap(([channel, id]) => this.remove(node, channel, id))]
  }

  drop(node: string): MemberChange[] {
    const changes = this.replace(node, new Map())
    this.#byNode.delete(node)
    return changes
  }

  #has(channel: string, id: string): boolean {
    for (const roster of this.#byNode.values()) if (roster.get(channel)?.has(id)) return true
    return false
  }
}

export function entriesOf(roster: Roster): MemberEntry[] {
  return [...roster].flatMap(([channel, users]) =>
    [...users].map(([id, info]): MemberEntry => [channel, id, info]),
  )
}

export function addEntry(roster: Roster, channel: string, id: string, info: JsonValue): void {
  const users = roster.get(channel) ?? new Map<string, JsonValue>()
  roster.set(channel, users.set(id, info))
}
