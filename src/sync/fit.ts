import type { Items, StorageAdapter } from './storage.ts'
import type { WriterTools } from './writer-tools.ts'

/** Throws if these items do not fit into the storage, beside what it contains. */
export async function expectFit(
  { LeaseError }: WriterTools,
  storage: StorageAdapter,
  items: Items,
): Promise<void> {
  const { limits } = storage
  if (!limits) return
  const stored = await storage.get(await storage.keys())
  const all = Object.entries({ ...stored, ...items })
  let sum = 0
  for (const [key, value] of all) {
    const bytes = new TextEncoder().encode(key + JSON.stringify(value)).length
    sum += bytes
    if (key in items && bytes > limits.itemBytes) tooLarge(`${key} takes ${bytes} bytes`, limits.itemBytes)
  }
  if (sum > limits.bytes) tooLarge(`everything would take ${sum} bytes`, limits.bytes)
  if (all.length > limits.items) tooLarge(`there would be ${all.length} items`, limits.items)

  function tooLarge(what: string, limit: number): never {
    throw new LeaseError('store-failed', `${what}; ${limits?.of} allows ${limit}`)
  }
}
