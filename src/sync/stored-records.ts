/** What the writer reads from the storage. */
import type { Format } from './format.ts'
import type { Layout } from './layout.ts'
import type { Operation } from './log.ts'
import type { Items } from './storage.ts'
import type { WriterTools } from './writer-tools.ts'

/** Keys of records, each with its operations. A record that was carried out has none left. */
export type LoggedOperations = readonly (readonly [key: string, operations: readonly Operation[]])[]

/** The records of this format, in their order. `ignored`: the keys of malformed ones, and of other formats. */
export function readRecords(
  { DONE, readRecord, show }: WriterTools,
  items: Items,
  layout: Layout,
  format: Format,
) {
  const records: [key: string, operations: readonly Operation[]][] = []
  const ignored: string[] = []
  for (const key of Object.keys(items).filter(layout.isRecord).sort()) {
    const record = readRecord(items[key])
    if (record === DONE) records.push([key, []])
    else if (record?.format === show(format)) records.push([key, record.ops])
    else ignored.push(key)
  }
  return { records, ignored }
}

/** The ids in the index. Throws if it is damaged. */
export function expectIds(
  { LeaseError }: WriterTools,
  { ids, indexKeys }: Layout,
  items: Items,
): readonly string[] {
  const found = ids(items)
  if (found) return found
  const message = `${indexKeys[0]} is damaged; rebuildIndex() restores it from the entities, reset() empties it`
  throw new LeaseError('store-failed', message)
}
