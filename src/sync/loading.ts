/** Reads the stored data and the log: all of it at the start, and what changes later. */
import { hasOtherFormat } from './format.ts'
import { logOf, type StorageListener } from './storage.ts'
import type { SyncContext } from './writing.ts'

export function createLoading<E extends object, S extends object>(context: SyncContext<E, S>) {
  const { storage, layout, format, reader, append } = context
  return {
    async load(): Promise<void> {
      let head = await storage.get(layout.headKeys)
      if (hasOtherFormat(head, layout, format)) head = await (await context.methods()).migrate(head)
      // The log is listed while the entities are read. What was carried out in between is reported as a change.
      await Promise.all([reader.readAll(head), readLog()])
    },
    onChanged(changes: Parameters<StorageListener>[0]): void {
      append.onChanged(changes)
      reader.onChanged(changes)
      // Anything may have happened, also writes of pages that are closed now.
      if (!changes) readLog().catch(context.failed)
    },
  }

  /** Shows the records of the log, and has them carried out. */
  async function readLog(): Promise<void> {
    const records = (await logOf(storage).keys()).filter(layout.isRecord)
    await reader.read(records)
    if (records.length > 0) context.soon()
  }
}
