import { asLeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { storedIds } from './fold.ts'
import { readRecord } from './log.ts'
import { readMessage, SYNC_ACTIONS } from './messages.ts'
import { assemble, type SyncBaseOptions } from './options.ts'
import { createSchedule } from './schedule.ts'
import { logOf, type StorageListener } from './storage.ts'
import * as writerModule from './writer.ts'

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
  // A service worker has no `import()`.
  const parts = assemble(options, async () => writerModule)
  const { storage, messenger, namespace, layout, clock, warn, closing, writer } = parts
  const schedule = createSchedule(writer.carryOut, clock, warn)
  const unfinished = new Set<Promise<unknown>>()

  const stops = [
    logOf(storage).subscribe(noticeRecords),
    storage.subscribe(cleanupByIndexDiff),
    messenger?.subscribe((message) =>
      readMessage(message, namespace) ? { action: SYNC_ACTIONS.ack } : undefined,
    ),
  ]
  // Records that a page or an earlier worker left behind.
  schedule.soon()

  const coordinator: Coordinator = {
    cleanupOrphans: () => cleanup(() => storedIds(parts)),
    async close() {
      for (const stop of stops) notify(stop)
      await Promise.allSettled(unfinished)
      await schedule.finish()
      closing.abort()
    },
    [Symbol.asyncDispose]: () => coordinator.close(),
  }
  return coordinator

  async function cleanup(candidates: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const cleaned = candidates().then(async (orphans) => {
      const { gone } = await writer.perform([{ orphans }])
      return orphans.filter((id) => gone.has(id))
    })
    unfinished.add(cleaned)
    try {
      return await cleaned
    } catch (error) {
      throw asLeaseError(error)
    } finally {
      unfinished.delete(cleaned)
    }
  }

  function noticeRecords(changes: Parameters<StorageListener>[0]): void {
    for (const [key, change] of Object.entries(changes ?? {})) {
      const record = layout.isRecord(key) && readRecord(change?.newValue)
      if (record) schedule.soon(record.soon)
    }
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
      cleanup(async () => removed).catch((error) =>
        warn('remove-failed', 'could not remove orphaned keys', error),
      )
  }
}
