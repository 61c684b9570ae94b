/** Names of locks that are too long for the name of a resource: it has their hash. */
import type { LeaseRecord } from '../base/records.ts'
import type { escapeAll, NamedResource, PREFIX } from './names.ts'

/** After the prefix. Never part of an escaped name: what follows its `%` is always hex. */
const HASH_MARK = '%~'
/** The metadata of a lease may have 4096 bytes. */
const MAX_KEPT_BYTES = 4000

export async function hashedResource(
  prefix: typeof PREFIX,
  text: ReturnType<typeof escapeAll>,
): Promise<NamedResource> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return {
    resource: prefix + HASH_MARK + btoa(String.fromCharCode(...new Uint8Array(digest))),
    ...(text.length <= MAX_KEPT_BYTES && { metadata: { name: text } }),
  }
}

/** The name of a lock that somebody holds, as far as its lease tells. */
export function nameOf(prefix: typeof PREFIX, { resource, metadata }: LeaseRecord): string | undefined {
  const { name } = metadata ?? {}
  const text = resource.startsWith(prefix + HASH_MARK) ? name : resource.slice(prefix.length)
  if (typeof text !== 'string') return
  return text.replace(/%([\da-f]{4})/g, (_, unit) => String.fromCharCode(Number.parseInt(unit, 16)))
}
