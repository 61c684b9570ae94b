import { isObject, refuse } from '../base/arguments.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { createFold } from './fold.ts'
import { expectFormat, hasOtherFormat, readMeta, show } from './format.ts'
import { isId } from './json.ts'
import { createLayout } from './layout.ts'
import { DONE, isAnswer, readRecord } from './log.ts'
import { MAX_SHARDS } from './options.ts'
import { createRequestBatch } from './request-batch.ts'
import { logOf, readKeys } from './storage.ts'
import { conform } from './validate.ts'

/** What `writing.ts` has from the rest of a sync, because it is loaded on demand: see Pages in ARCHITECTURE. */
export interface WriterTools {
  readonly DONE: typeof DONE
  readonly MAX_SHARDS: typeof MAX_SHARDS
  readonly LeaseError: typeof LeaseError
  readonly asLeaseError: typeof asLeaseError
  readonly conform: typeof conform
  readonly createFold: typeof createFold
  readonly createLayout: typeof createLayout
  readonly createRequestBatch: typeof createRequestBatch
  readonly expectFormat: typeof expectFormat
  readonly hasOtherFormat: typeof hasOtherFormat
  readonly isAnswer: typeof isAnswer
  readonly isId: typeof isId
  readonly isObject: typeof isObject
  readonly logOf: typeof logOf
  readonly readKeys: typeof readKeys
  readonly readMeta: typeof readMeta
  readonly readRecord: typeof readRecord
  readonly refuse: typeof refuse
  readonly show: typeof show
}

export const WRITER_TOOLS: WriterTools = {
  DONE,
  MAX_SHARDS,
  LeaseError,
  asLeaseError,
  conform,
  createFold,
  createLayout,
  createRequestBatch,
  expectFormat,
  hasOtherFormat,
  isAnswer,
  isId,
  isObject,
  logOf,
  readKeys,
  readMeta,
  readRecord,
  refuse,
  show,
}
