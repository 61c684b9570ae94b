/**
 * What a context needs only once it writes. A page loads it with its first write. This module and those that it
 * imports import only types from elsewhere, and get the functions of the rest as `WriterTools`: see Pages in
 * ARCHITECTURE.
 */

import { createAfterAppend } from './after-append.ts'
import { type AnnounceOptions, createAnnounce } from './announce.ts'
import type { Append, Appended, TellResult } from './append.ts'
import { hearing } from './hints.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Parts } from './parts.ts'
import { type RareMethods, rareMethods } from './rare-methods.ts'
import type { Reader } from './reader.ts'
import { createSchedule, type ScheduleOptions } from './schedule.ts'
import type { View } from './view.ts'
import { type StorageWriter, type StorageWriterOptions, storageWriter } from './writer.ts'
import type { WriterTools } from './writer-tools.ts'

export type Writing = ReturnType<typeof createWriting>

export interface WritingOptions extends StorageWriterOptions, AnnounceOptions, ScheduleOptions {}

/** What a sync has for these methods. */
export interface SyncContext<E extends object, S extends object> extends Parts<E, S>, Lifecycle {
  readonly view: View<E, S>
  readonly reader: Reader
  readonly append: Append
  readonly methods: () => Promise<SyncMethods<E>>
  /** The entity as it is stored. Throws if it is invalid. */
  readonly checked: (id: string, entity: unknown) => E
}

/** What a sync has from this module. */
export interface SyncMethods<E extends object> extends RareMethods<E> {
  /** Sees to it that a record is carried out, or that somebody else does so. */
  afterAppend(record: Appended): Promise<TellResult>
  /** Follows a message that has one of our action names, and returns the answer to it. */
  hear(message: unknown): unknown
}

export interface WritingContext<E extends object, S extends object> extends SyncContext<E, S> {
  /** `undefined`: this context has no lock, and the coordinator carries out its records. */
  readonly writer: StorageWriter | undefined
}

export function createWriting(tools: WriterTools, options: WritingOptions) {
  const writer = storageWriter(tools, options)
  const announce = createAnnounce(options)
  return {
    writer,
    schedule: createSchedule(tools, writer.carryOut, options),
    /** What a sync needs, and a coordinator does not. */
    methodsOf<E extends object, S extends object>(sync: SyncContext<E, S>): SyncMethods<E> {
      const context = { ...sync, writer: sync.leavesRecords ? undefined : writer }
      return {
        ...rareMethods(tools, context, announce),
        afterAppend: createAfterAppend(tools, context, announce),
        hear: hearing(tools, context),
      }
    },
  }
}
