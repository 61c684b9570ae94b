import type { EntityEntries } from './layout.ts'

/** What a write did. It goes through messages as it is. */
export interface Written {
  /** Whether ids came or went. */
  readonly indexChanged: boolean
}

/** Carries out operations on the storage: here, or at the coordinator. Each may be done twice without harm. */
export interface Writer {
  /** Brings what is stored into this context's format. */
  prepare(): Promise<Written>
  /** `knownAt`: the revision at which the caller saw all of these ids in the index. */
  set(entries: EntityEntries, knownAt?: number): Promise<Written>
  /** Sets fields of an entity; `not-found` when it is not there. */
  patch(id: string, fields: object, knownAt?: number): Promise<Written>
  /** `seenAt`: not if the index has changed since this revision. */
  remove(ids: readonly string[], seenAt?: number): Promise<Written>
  reset(): Promise<Written>
  updateSettings(fields: object): Promise<Written>
  /** Removes keys of entities that are not in the index: of these ids, or else of all. Resolves with their ids. */
  cleanup(ids?: readonly string[]): Promise<readonly string[]>
}
