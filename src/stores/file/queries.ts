/** Reads and lists the resources of a directory. Nothing is changed. */
import type { Clock } from '../../base/clock.ts'
import { asLeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { compareUtf8 } from '../../base/utf8-order.ts'
import type { LeasePage, ListQuery } from '../../core/index.ts'
import { mayBeListed, pageOf } from '../lease-page.ts'
import { shownRecords } from '../lease-row.ts'
import { inBatches } from './files.ts'
import type { LeaseDirectory, LoadedRow } from './lease-directory.ts'
import { keyOf, resourceOf } from './names.ts'

export class Queries {
  readonly #directory: LeaseDirectory
  readonly #clock: Clock

  constructor(directory: LeaseDirectory, clock: Clock) {
    this.#directory = directory
    this.#clock = clock
  }

  async read(resources: readonly string[]): Promise<LeaseRecord[][]> {
    const leases: LeaseRecord[][] = []
    const load = (resource: string) => this.#directory.load(keyOf(resource), this.#clock.now(), resource)
    for await (const loaded of inBatches(resources, load)) leases.push(this.#shown(loaded))
    return leases
  }

  async list(query: ListQuery): Promise<LeasePage> {
    const leases: LeaseRecord[] = []
    const keys = (await this.#keysInOrder()).filter(({ resource }) => mayBeListed(resource, query))
    for await (const loaded of inBatches(keys, ({ key }) => this.#loadIfKnown(key))) {
      const page = pageOf([...leases, ...this.#shown(loaded)], query)
      leases.splice(0, Infinity, ...page.leases)
      if (page.next) return page
    }
    return { leases }
  }

  async *loadAll(keys: readonly string[]): AsyncGenerator<LoadedRow> {
    for await (const loaded of inBatches(keys, (key) => this.#loadIfKnown(key))) if (loaded) yield loaded
  }

  /** All resources in the order of their names. */
  async #keysInOrder(): Promise<{ readonly key: string; readonly resource: string }[]> {
    const found: { key: string; resource: string }[] = []
    const nameOf = async (key: string) => {
      const resource = resourceOf(key) ?? (await this.#loadIfKnown(key))?.row.resource
      if (resource !== undefined) found.push({ key, resource })
    }
    for await (const _ of inBatches(await this.#directory.keys(), nameOf));
    return found.sort((a, b) => compareUtf8(a.resource, b.resource))
  }

  /** `null` also if only a newer version can read it, so that one such resource stops no list and no sweep. */
  #loadIfKnown(key: string): Promise<LoadedRow | null> {
    return this.#directory.load(key, this.#clock.now()).catch((error: unknown) => {
      if (asLeaseError(error).code === 'other-format') return null
      throw error
    })
  }

  #shown(loaded: LoadedRow | null): LeaseRecord[] {
    return loaded ? shownRecords(loaded.row, this.#clock.now()) : []
  }
}
