import { isObject, refuse } from '../base/arguments.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { createFold, readHead, storedIds } from './fold.ts'
import { expectFormat, needsMigration, readMeta, show } from './format.ts'
import { createLayout } from './layout.ts'
import { DONE, readRecord } from './log.ts'
import { logOf, readKeys } from './storage.ts'
import { createTurns } from './turns.ts'

/** What the writer has from the rest of a sync, because it is loaded on demand: see Pages in ARCHITECTURE. */
export interface WriterTools {
  readonly DONE: typeof DONE
  readonly LeaseError: typeof LeaseError
  readonly asLeaseError: typeof asLeaseError
  readonly createFold: typeof createFold
  readonly createLayout: typeof createLayout
  readonly createTurns: typeof createTurns
  readonly expectFormat: typeof expectFormat
  readonly isObject: typeof isObject
  readonly logOf: typeof logOf
  readonly needsMigration: typeof needsMigration
  readonly readHead: typeof readHead
  readonly readKeys: typeof readKeys
  readonly readMeta: typeof readMeta
  readonly readRecord: typeof readRecord
  readonly refuse: typeof refuse
  readonly show: typeof show
  readonly storedIds: typeof storedIds
}

export const WRITER_TOOLS: WriterTools = {
  DONE,
  LeaseError,
  asLeaseError,
  createFold,
  createLayout,
  createTurns,
  expectFormat,
  isObject,
  logOf,
  needsMigration,
  readHead,
  readKeys,
  readMeta,
  readRecord,
  refuse,
  show,
  storedIds,
}
