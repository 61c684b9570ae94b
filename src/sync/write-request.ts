/** What a context without locks of its own asks of the coordinator, and what it is answered. */
import type { LeaseErrorCode } from '../core/index.ts'
import { isId, isObject } from './json.ts'
import { SYNC_ACTIONS } from './keys.ts'
import type { Writer } from './writer.ts'

export interface WriteRequest {
  readonly action: typeof SYNC_ACTIONS.entityWrite
  /** The same for every try, so that one that is still running is not started again. */
  readonly requestId: string
  readonly operation: keyof Writer
  readonly args: readonly unknown[]
}

export type WriteAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: LeaseErrorCode; readonly message: string } }

const optional = (check: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || check(value)
const isIds = (value: unknown) => Array.isArray(value) && value.every(isId)
const isRevision = (value: unknown) => Number.isInteger(value)
const isEntries = (value: unknown) =>
  Array.isArray(value) && value.every((entry) => Array.isArray(entry) && isId(entry[0]) && isObject(entry[1]))

/** Every operation, and what its arguments have to be. */
const OPERATIONS: Readonly<Record<keyof Writer, readonly ((value: unknown) => boolean)[]>> = {
  prepare: [],
  set: [isEntries, optional(isRevision)],
  patch: [isId, isObject, optional(isRevision)],
  remove: [isIds, optional(isRevision)],
  reset: [],
  updateSettings: [isObject],
  cleanup: [optional(isIds)],
}

/** `undefined` for what is no request, `null` for what says that it is and is not. */
export function readRequest(message: unknown): WriteRequest | null | undefined {
  if (!isObject(message)) return undefined
  const { action, requestId, operation, args } = message
  if (action !== SYNC_ACTIONS.entityWrite) return undefined
  if (!isId(requestId) || !Array.isArray(args) || !isId(operation) || !Object.hasOwn(OPERATIONS, operation))
    return null
  const checks = OPERATIONS[operation as keyof Writer]
  const sound = args.length <= checks.length && checks.every((check, at) => check(args[at]))
  return sound ? { action, requestId, operation: operation as keyof Writer, args } : null
}

export function isAnswer(answer: unknown): answer is WriteAnswer {
  if (!isObject(answer)) return false
  const { result, error } = answer
  return 'error' in answer ? isObject(error) : Object(result) === result
}
