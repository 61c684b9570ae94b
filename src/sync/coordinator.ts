import { asLeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { answerTo, readHint } from './hints.ts'
import { readRecord } from './log.ts'
import { isSyncMessage } from './messages.ts'
import type { SyncBaseOptions } from './options.ts'
import { assemble } from './parts.ts'
import { logOf, type StorageListener } from './storage.ts'
import { WRITER_TOOLS } from './writer-tools.ts'
import * as writing from './writing.ts'

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
  // A bundled service worker has no `import()`.
  const parts = assemble(options, async () => writing)
  const { storage, messenger, namespace, layout, warn } = parts
  const unfinished = new Set<Promise<unknown>>()

  const stops = [
    logOf(storage).subscribe(noticeRecords),
    storage.subscribe(cleanupByIndexDiff),
    messenger?.subscribe((message) =>
      isSyncMessage(message, namespace) ? answerTo(readHint(WRITER_TOOLS, message)) : undefined,
    ),
  ]
  // Records that a page or an earlier worker left behind.
  soon()

  const coordinator: Coordinator = {
    cleanupOrphans: () => cleanup(layout.storedIds),
    async close() {
      for (const end of stops) notify(end)
      await Promise.allSettled(unfinished)
      await parts.finish()
      parts.stop()
    },
    [Symbol.asyncDispose]: () => coordinator.close(),
  }
  return coordinator

  function soon(now?: boolean): void {
    void parts.writing().then(({ schedule }) => schedule.soon(now))
  }

  async function cleanup(candidates: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const cleaned = candidates().then(async (orphans) => {
      const { writer } = await parts.writing()
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
      if (record) soon(record.soon)
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
