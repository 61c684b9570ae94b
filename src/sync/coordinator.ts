import { isObject } from '../base/arguments.ts'
import { asLeaseError } from '../base/errors.ts'
import { expectSameFormat } from './format.ts'
import { isDeepEqual, isId } from './json.ts'
import { readRecord } from './log.ts'
import { readMessage, SYNC_ACTIONS } from './messages.ts'
import { assemble, type SyncBaseOptions } from './options.ts'
import type { Swapped, WriteAnswer, WriteRequest } from './remote-writer.ts'
import { createSchedule } from './schedule.ts'
import { logOf, type StorageListener } from './storage.ts'

const MAX_REMEMBERED_ANSWERS = 1000

export interface Coordinator extends AsyncDisposable {
  /** Removes the keys of entities that are not in the index, and resolves with their ids. Call it at every start. */
  cleanupOrphans(): Promise<readonly string[]>
  /** Stops listening, and waits for unfinished requests. */
  close(): Promise<void>
}

/**
 * Carries out the writes of contexts without locks of their own, and of pages that were closed. It keeps no state, so
 * the service worker may stop and start at any moment. Create it at the top level of the worker, so that a write
 * wakes it.
 *
 * @example
 * const coordinator = createCoordinator(chromeContext())
 * chrome.runtime.onStartup.addListener(() => coordinator.cleanupOrphans())
 */
export function createCoordinator(options: SyncBaseOptions): Coordinator {
  const { storage, messenger, namespace, layout, format, clock, warn, closing, writer } = assemble(options)
  const log = logOf(storage)
  const schedule = createSchedule(writer.carryOut, clock, warn)
  /** By request id, oldest first: a request that comes again gets the same answer and is not carried out again. */
  const answers = new Map<string, Promise<WriteAnswer>>()

  const stops = [
    log.subscribe(noticeRecords),
    storage.subscribe(cleanupByIndexDiff),
    messenger?.subscribe(answer),
  ]
  // Records that a page or an earlier worker left behind.
  schedule.soon()

  const coordinator: Coordinator = {
    cleanupOrphans: () => writer.cleanup(),
    async close() {
      for (const stop of stops) stop?.()
      await Promise.all(answers.values())
      await schedule.finish()
      closing.abort()
    },
    [Symbol.asyncDispose]: () => coordinator.close(),
  }
  return coordinator

  function noticeRecords(changes: Parameters<StorageListener>[0]): void {
    for (const [key, change] of Object.entries(changes ?? {})) {
      const record = key.startsWith(layout.keys.logPrefix) && readRecord(change?.newValue)
      if (record) schedule.soon(record.soon)
    }
  }

  function answer(message: unknown): unknown {
    if (readMessage(message, namespace)) return { action: SYNC_ACTIONS.ack }
    const request = readRequest(message, namespace)
    if (request === null) warn('malformed-message', 'a malformed write request was ignored', message)
    if (!request) return undefined
    const { requestId } = request
    const answered = answers.get(requestId) ?? carryOut(request)
    answers.set(requestId, answered)
    const [oldest] = answers.keys()
    if (answers.size > MAX_REMEMBERED_ANSWERS && oldest) answers.delete(oldest)
    return answered
  }

  async function carryOut(request: WriteRequest): Promise<WriteAnswer> {
    try {
      expectSameFormat(request.format, format)
      return { result: await perform(request) }
    } catch (error) {
      const { code, message } = asLeaseError(error)
      return { error: { code, message } }
    }
  }

  async function perform({ operation, args }: WriteRequest): Promise<unknown> {
    if (operation === 'cleanup') return writer.cleanup()
    if (operation === 'swap') return swap(args as [string, object | null, object])
    await writer.prepare()
    return {}
  }

  async function swap([id, from, to]: readonly [string, object | null, object]): Promise<Swapped> {
    let answer: Swapped = { swapped: false }
    await writer.update(id, (entity) => {
      if (!isDeepEqual(entity ?? null, from)) {
        answer = { swapped: false, ...(entity && { found: entity }) }
        return undefined
      }
      answer = { swapped: true }
      return to
    })
    return answer
  }

  /** A foreign writer that removes an id from the index may leave the key of its entity behind. */
  function cleanupByIndexDiff(changes: Parameters<StorageListener>[0]): void {
    const touched = Object.entries(changes ?? {}).filter(([key]) => layout.indexKeys.includes(key))
    if (touched.length === 0 || layout.inIndex || storage.shared) return
    const idsIn = (side: 'oldValue' | 'newValue') =>
      layout.ids(Object.fromEntries(touched.map(([key, change]) => [key, change?.[side]]))) ?? []
    const current = new Set(idsIn('newValue'))
    const removed = idsIn('oldValue').filter((id) => !current.has(id))
    if (removed.length > 0)
      writer.cleanup(removed).catch((error) => warn('remove-failed', 'could not remove orphaned keys', error))
  }
}

/** `undefined`: not a write request. `null`: a malformed write request. */
function readRequest(message: unknown, namespace: string): WriteRequest | null | undefined {
  if (!isObject(message)) return undefined
  const { action, namespace: received = '', format, requestId, operation, args } = message
  if (action !== SYNC_ACTIONS.entityWrite || received !== namespace) return undefined
  if (!isId(requestId) || typeof format !== 'string' || !Array.isArray(args)) return null
  const [id, from, to] = args
  const isSwap = isId(id) && (from === null || isObject(from)) && isObject(to) && args.length === 3
  if (operation === 'swap' ? !isSwap : args.length > 0) return null
  if (operation !== 'swap' && operation !== 'prepare' && operation !== 'cleanup') return null
  return { action, namespace, format, requestId, operation, args }
}
