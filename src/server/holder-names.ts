import type { LeaseRecord } from '../base/records.ts'
import { setLimited } from './limited-map.ts'
import { MAX_REMEMBERED_NAMES } from './options.ts'

/**
 * The names of holders who have changed theirs since the grant. A store keeps a lease as it was granted, so the holder
 * repeats its name with every heartbeat, and the node that gets it tells the others. What a node missed comes with the
 * next heartbeat.
 */
export class HolderNames {
  /** By resource. */
  readonly #names = new Map<string, { readonly token: number; readonly name: string | null }>()

  /** The lease with the name that its holder has now. */
  current(lease: LeaseRecord): LeaseRecord {
    const renamed = this.#names.get(lease.resource)
    if (renamed?.token !== lease.token) return lease
    const { name: _, ...metadata } = lease.metadata ?? {}
    const { name } = renamed
    return { ...lease, metadata: name === null ? metadata : { ...metadata, name } }
  }

  /** Whether the holder has, or had, another name than at its grant. */
  isRenamed({ resource, token, metadata }: LeaseRecord, name: string | null): boolean {
    const { name: granted = null } = metadata ?? {}
    return this.#names.get(resource)?.token === token || name !== granted
  }

  set(resource: string, token: number, name: string | null): void {
    if ((this.#names.get(resource)?.token ?? 0) > token) return
    setLimited(this.#names, resource, { token, name }, MAX_REMEMBERED_NAMES)
  }
}
