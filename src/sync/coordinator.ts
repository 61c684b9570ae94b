import { isObject } from '../base/arguments.ts'
import { asLeaseError } from '../base/errors.ts'
import { isId } from './json.ts'
import { readMessage, SYNC_ACTIONS } from './messages.ts'
import { assemble, type SyncBaseOptions } from './options.ts'
import type { WriteAnswer, WriteRequest } from './remote-writer.ts'
import type { StorageListener } from './storage.ts'
import type { Writer } from './writer.ts'

const MAX_REMEMBERED_ANSWERS = 1000

export interface Coordinator extends AsyncDisposable {
  /** Removes the keys of entities that are not in the index, and resolves with their ids. Call it at every start. */
  cleanupOrphans(): Promise<readonly string[]>
  /** Stops listening, and waits for unfinished requests. */
  close(): Promise<void>
}

/**
 * Carries out the writes of contexts without locks of their own, and cleans up after writers that died. It keeps no
 * state, so the service worker may stop and start at any moment.
 *
 * @example
 * const coordinator = createCoordinator(chromeContext())
 * chrome.runtime.onStartup.addListener(() => coordinator.cleanupOrphans())
 */
export function createCoordinator(options: SyncBaseOptions): Coordinator {
  const { storage, messenger, layout, warn, closing, writer } = assemble(options)
  /** By request id, oldest first: a request that comes again gets the same answer and is not carried out again. */
  const answers = new Map<string, Promise<WriteAnswer>>()

  const stops = [storage.subscribe(cleanupByIndexDiff), messenger?.subscribe(answer)]

  const coordinator: Coordinator = {
    cleanupOrphans: () => writer.cleanup(),
    async close() {
      for (const stop of stops) stop?.()
      await Promise.all(answers.values())
      closing.abort()
    },
    [Symbol.asyncDispose]: () => coordinator.close(),
  }
  return coordinator

  function answer(message: unknown): unknown {
    if (readMessage(message)) return { action: SYNC_ACTIONS.ack }
    const request = readRequest(message)
    if (request === null) warn('malformed-message', 'a malformed write request was ignored', message)
    if (!request) return undefined
    const { requestId } = request
    const answered = answers.get(requestId) ?? carryOut(request)
    answers.set(requestId, answered)
    const [oldest] = answers.keys()
    if (answers.size > MAX_REMEMBERED_ANSWERS && oldest) answers.delete(oldest)
    return answered
  }

  async function carryOut({ operation, args }: WriteRequest): Promise<WriteAnswer> {
    try {
      return {
        result: await (writer[operation] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
      }
    } catch (error) {
      const { code, message } = asLeaseError(error)
      return { error: { code, message } }
    }
  }

  /** A writer that died after it changed the index, and before it removed the key, leaves the key behind. */
  function cleanupByIndexDiff(changes: Parameters<StorageListener>[0]): void {
    const touched = Object.entries(changes ?? {}).filter(([key]) => layout.indexKeys.includes(key))
    if (touched.length === 0 || layout.inIndex) return
    const idsIn = (side: 'oldValue' | 'newValue') =>
      layout.ids(Object.fromEntries(touched.map(([key, change]) => [key, change?.[side]]))) ?? []
    const current = new Set(idsIn('newValue'))
    const removed = idsIn('oldValue').filter((id) => !current.has(id))
    if (removed.length > 0)
      writer.cleanup(removed).catch((error) => warn('remove-failed', 'could not remove orphaned keys', error))
  }
}

const optional = (check: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || check(value)
const isIds = (value: unknown) => Array.isArray(value) && value.every(isId)
const isRevision = (value: unknown) => Number.isInteger(value)
const isEntries = (value: unknown) =>
  Array.isArray(value) && value.every((entry) => Array.isArray(entry) && isId(entry[0]) && isObject(entry[1]))

/** The check of each argument, for every operation. */
const OPERATIONS: Readonly<Record<keyof Writer, readonly ((value: unknown) => boolean)[]>> = {
  prepare: [],
  set: [isEntries, optional(isRevision)],
  patch: [isId, isObject, optional(isRevision)],
  remove: [isIds, optional(isRevision)],
  reset: [],
  updateSettings: [isObject],
  cleanup: [optional(isIds)],
}

/** `undefined`: not a write request. `null`: a malformed write request. */
function readRequest(message: unknown): WriteRequest | null | undefined {
  if (!isObject(message)) return undefined
  const { action, requestId, operation, args } = message
  if (action !== SYNC_ACTIONS.entityWrite) return undefined
  if (!isId(requestId) || !Array.isArray(args) || !isId(operation) || !Object.hasOwn(OPERATIONS, operation))
    return null
  const checks = OPERATIONS[operation as keyof Writer]
  const valid = args.length <= checks.length && checks.every((check, index) => check(args[index]))
  return valid ? { action, requestId, operation: operation as keyof Writer, args } : null
}
