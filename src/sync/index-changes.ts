/** What the writer makes of the index. All functions but `readHead` are pure: they compute what to write. */
import type { Layout, Part } from './layout.ts'
import type { Items, StorageAdapter } from './storage.ts'

export type EntityEntries = readonly (readonly [id: string, entity: object])[]

/** The entities to write, and the changed part of the index, which may be empty. */
export function changeIndex(
  layout: Layout,
  items: Items,
  removed: Iterable<string>,
  entries: EntityEntries,
): { readonly entities: Items; readonly index: Items } {
  const { inIndex, indexKeys } = layout
  const parts = layout.read(items).map((part): Part => part ?? new Map())
  const changed: Record<string, Part> = {}
  let last = 0
  if (!inIndex)
    for (const part of parts) for (const place of part.values()) last = Math.max(last, Number(place))
  const partOf = (id: string) => {
    const at = parts.length > 1 ? hash(id) % parts.length : 0
    return [indexKeys[at], parts[at]] as [string, Part]
  }
  for (const id of removed) {
    const [key, part] = partOf(id)
    if (part.delete(id)) changed[key] = part
  }
  for (const [id, entity] of entries) {
    const [key, part] = partOf(id)
    if (!inIndex && part.has(id)) continue
    part.set(id, inIndex ? entity : ++last)
    changed[key] = part
  }
  return {
    entities: Object.fromEntries(
      inIndex ? [] : entries.map(([id, entity]) => [layout.entityKey(id), entity]),
    ),
    index: Object.fromEntries(Object.entries(changed).map(([key, part]) => [key, write(layout, part)])),
  }
}

/** An index without entities. */
export function emptyIndex(layout: Layout): Items {
  return Object.fromEntries(layout.indexKeys.map((key) => [key, write(layout, new Map())]))
}

function write({ inIndex, indexKeys }: Layout, part: Part): object {
  if (inIndex) return Object.fromEntries(part)
  return { ids: [...part.keys()], ...(indexKeys.length > 1 && { order: [...part.values()] }) }
}

/** FNV-1a. Every context must compute the same shard for an id. */
function hash(id: string): number {
  let code = 0x811c9dc5
  for (let at = 0; at < id.length; at++) code = Math.imul(code ^ id.charCodeAt(at), 0x01000193)
  return code >>> 0
}

/**
 * Everything but the entities and the log. In a storage that several devices share, an entity is in the index as soon
 * as its key exists: another device may have added it.
 */
export async function readHead({
  storage,
  layout,
}: {
  readonly storage: StorageAdapter
  readonly layout: Layout
}): Promise<Items> {
  const items = await storage.get(layout.headKeys)
  if (!storage.shared) return items
  const found = (await layout.storedIds()).map((id) => [id, {}] as const)
  return { ...items, ...changeIndex(layout, items, [], found).index }
}
