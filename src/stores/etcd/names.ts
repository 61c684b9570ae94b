/**
 * The keys of a store. Each is a letter, the name of the resource and an id:
 *
 *     l  a live lease. It is attached to an etcd lease, so the cluster deletes it when its time is over.
 *     e  the same lease, attached to nothing: the process that deletes it has ended the lease, or has found that it expired.
 *     k  keeps the resource after the lease has ended, by `atLeast` or `lockDelay`. Attached to an etcd lease.
 *     q  a waiter. Attached to the etcd lease of its process, so all waiters of a dead process leave together.
 *
 * One more, `s` and an etcd lease, is written by each grant that uses that etcd lease: see `spare-leases.ts`.
 *
 * The separator is in no name and sorts before all their characters, so keys are in the order of the resources.
 */
import { type EtcdRange, endOfPrefix } from '../../clients/etcd.ts'

const SEPARATOR = '\0'

export type KeyKind = 'l' | 'e' | 'k' | 'q'

export interface ParsedKey {
  readonly kind: KeyKind
  readonly resource: string
  readonly id: string
}

/** What a kept resource is kept by. */
export type KeptBy = 'at-least' | 'lock-delay'

type Range = Required<Pick<EtcdRange, 'key' | 'end'>>

export class Keys {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  key(kind: 'l' | 'e' | 'q', resource: string, id: string): string {
    return `${this.of(kind, resource).key}${id}`
  }

  kept(resource: string, id: string, by: KeptBy): string {
    return `${this.of('k', resource).key}${id}${SEPARATOR}${by}`
  }

  used(lease: string): string {
    return `${this.#prefix}s/${lease}`
  }

  /** All keys of this kind and resource. */
  of(kind: KeyKind, resource: string): Range {
    return this.all(kind, `${resource}${SEPARATOR}`)
  }

  /** All keys of this kind whose resource begins with `namePrefix`. */
  all(kind: KeyKind, namePrefix = ''): Range {
    const key = `${this.#prefix}${kind}/${namePrefix}`
    return { key, end: endOfPrefix(key) }
  }

  /** All keys of resources. */
  everything(): Range {
    return { key: this.all('e').key, end: this.all('q').end }
  }

  /** `null`: not a key of ours. */
  parse(key: string): ParsedKey | null {
    const [kind, ...rest] = key.slice(this.#prefix.length).split('/')
    const [resource, id] = rest.join('/').split(SEPARATOR)
    if (!key.startsWith(this.#prefix) || !isKind(kind) || !resource || id === undefined) return null
    return { kind, resource, id }
  }
}

/** Whether a store with a shorter prefix would take the keys of a store with this one for its own. */
export function isWithinKeys(prefix: string): boolean {
  return /\/[lekqs]\//.test(prefix)
}

function isKind(text: string | undefined): text is KeyKind {
  return text === 'l' || text === 'e' || text === 'k' || text === 'q'
}
