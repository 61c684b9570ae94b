/**
 * Resources that somebody in this process waits for, as the watch tells of them. So a turn is known without a request,
 * however long the queue is. A copy may be late, but each grant compares revisions.
 *
 *     unknown ──first change──▶ followed ──read, after the last change──▶ known ──no waiters here──▶ unknown
 */
import type { EtcdEntry } from '../../clients/etcd.ts'
import type { KeyKind } from './names.ts'
import { FIRST_WAITERS } from './options.ts'
import type { ParsedEvent } from './push.ts'
import type { Found } from './state.ts'

interface Followed {
  /** The revision of the last change. What was read before it is too old. */
  heard: number
  replica: Replica | undefined
}

export class Replicas {
  readonly #followed = new Map<string, Followed>()

  /** All that one transaction did to the resource. */
  changed(resource: string, events: readonly ParsedEvent[]): void {
    const followed = this.#followed.get(resource) ?? { heard: 0, replica: undefined }
    this.#followed.set(resource, followed)
    followed.heard = Math.max(followed.heard, ...events.map(({ entry }) => entry.modified))
    followed.replica?.change(events)
    if (followed.replica?.isUsedUp) followed.replica = undefined
  }

  /** What was read, with its queue. */
  read(found: Found): void {
    const followed = this.#followed.get(found.resource)
    const known = Math.max(followed?.heard ?? Infinity, followed?.replica?.revision ?? 0)
    if (followed && found.revision >= known) followed.replica = new Replica(found)
  }

  find(resource: string, queueKey: string): Found | undefined {
    return this.#followed.get(resource)?.replica?.find(queueKey)
  }

  forget(resource: string): void {
    this.#followed.delete(resource)
  }

  /** Changes were missed. */
  clear(): void {
    this.#followed.clear()
  }
}

class Replica {
  readonly #resource: string
  readonly #entries: Record<KeyKind, Map<string, EtcdEntry>>
  /** Those at the end of a long queue are only counted. */
  #queueLength: number
  revision: number

  constructor({ resource, revision, entries: { l, e, k, q }, queueLength }: Found) {
    const byKey = (entries: readonly EtcdEntry[]) => new Map(entries.map((entry) => [entry.key, entry]))
    this.#resource = resource
    this.#entries = { l: byKey(l), e: byKey(e), k: byKey(k), q: byKey(q) }
    this.#queueLength = queueLength
    this.revision = revision
  }

  /** The next waiters have to be read. */
  get isUsedUp(): boolean {
    return this.#queueLength > 0 && this.#entries.q.size === 0
  }

  change(events: readonly ParsedEvent[]): void {
    const before = this.revision
    for (const { kind, type, entry } of events.filter(({ entry }) => entry.modified > before)) {
      const entries = this.#entries[kind]
      const isPut = type === 'put'
      // Waiters join at the end, in the order of their keys' creation.
      if (isPut && (kind !== 'q' || entries.size === this.#queueLength)) entries.set(entry.key, entry)
      if (!isPut) entries.delete(entry.key)
      if (kind === 'q') this.#queueLength += isPut ? 1 : -1
      this.revision = entry.modified
    }
  }

  find(queueKey: string): Found {
    const { l, e, k, q } = this.#entries
    const first: EtcdEntry[] = []
    for (const waiter of q.values()) if (first.push(waiter) === FIRST_WAITERS) break
    return {
      resource: this.#resource,
      revision: this.revision,
      entries: { l: [...l.values()], e: [...e.values()], k: [...k.values()], q: first },
      queueLength: this.#queueLength,
      own: q.get(queueKey),
    }
  }
}
