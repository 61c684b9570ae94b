import { LeaseError } from '../core/index.ts'
import { SYNC_ACTIONS } from './keys.ts'
import { readMessage } from './messages.ts'
import { assemble, type SyncBaseOptions } from './options.ts'
import type { StorageListener } from './storage.ts'
import { readRequest, type WriteAnswer, type WriteRequest } from './write-request.ts'

const REMEMBERED = 1000

export interface Coordinator extends AsyncDisposable {
  /** Removes keys of entities that are not in the index. To be called at every start of the extension. */
  cleanupOrphans(): Promise<readonly string[]>
  /** Stops listening, and waits for what is under way. */
  close(): Promise<void>
}

/**
 * Carries out the writes of contexts that have no locks of their own, and cleans up after writers that died. It
 * keeps no state, so a service worker may end and start at any moment.
 *
 * @example
 * const coordinator = createCoordinator(chromeContext())
 * chrome.runtime.onStartup.addListener(() => coordinator.cleanupOrphans())
 */
export function createCoordinator(options: SyncBaseOptions): Coordinator {
  const { storage, messenger, layout, warn, closing, writer } = assemble(options)
  /** By request, oldest first: one that comes again, or late, is answered and not done again. */
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
    if (request === null) warn('malformed-message', 'a request was passed over', message)
    if (!request) return undefined
    const { requestId } = request
    const answered = answers.get(requestId) ?? carryOut(request)
    answers.set(requestId, answered)
    const [oldest] = answers.keys()
    if (answers.size > REMEMBERED && oldest) answers.delete(oldest)
    return answered
  }

  async function carryOut({ operation, args }: WriteRequest): Promise<WriteAnswer> {
    try {
      return {
        result: await (writer[operation] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
      }
    } catch (error) {
      const code = error instanceof LeaseError ? error.code : 'store-failed'
      return { error: { code, message: error instanceof Error ? error.message : String(error) } }
    }
  }

  /** A writer that died between the index and the key leaves the key behind. */
  function cleanupByIndexDiff(...[changes]: Parameters<StorageListener>): void {
    const touched = Object.entries(changes ?? {}).filter(([key]) => layout.indexKeys.includes(key))
    if (touched.length === 0 || layout.inIndex) return
    const idsIn = (side: 'oldValue' | 'newValue') =>
      layout.ids(Object.fromEntries(touched.map(([key, change]) => [key, change?.[side]]))) ?? []
    const current = new Set(idsIn('newValue'))
    const removed = idsIn('oldValue').filter((id) => !current.has(id))
    if (removed.length > 0)
      writer.cleanup(removed).catch((error) => warn('remove-failed', 'orphans could not be removed', error))
  }
}
