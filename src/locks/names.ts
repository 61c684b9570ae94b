/**
 * The name of a lock can be any string: empty, with control characters, of any length. The name of a resource cannot, and
 * it is stored in NFC. So what a resource may not contain is written as `%` and the UTF-16 unit in hex, and a name that
 * is too long as its hash. Different names have different resources.
 */
import type { JsonObject, LeaseRecord } from '../base/records.ts'
import { isLonger, MAX_NAME_BYTES } from '../base/resource-name.ts'

/** What the resources of all locks begin with. */
export const PREFIX = 'weblock:'
/** Never part of an escaped name: what follows its `%` is always hex. */
const HASHED = `${PREFIX}%~`
/** The metadata of a lease may have 4096 bytes. */
const MAX_KEPT_BYTES = 4000

export interface NamedResource {
  readonly resource: string
  /** The name, if the resource contains only its hash. */
  readonly metadata?: JsonObject
}

export async function resourceOf(name: string): Promise<NamedResource> {
  let resource = PREFIX + escapeUnits(name, /[%\p{Cc}\p{Cs}]/gu)
  if (resource !== resource.normalize()) resource = PREFIX + escapeAll(name)
  if (!isLonger(resource, MAX_NAME_BYTES)) return { resource }
  const text = escapeAll(name)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return {
    resource: HASHED + btoa(String.fromCharCode(...new Uint8Array(digest))),
    ...(text.length <= MAX_KEPT_BYTES && { metadata: { name: text } }),
  }
}

/** The name of a lock that somebody holds, as far as its lease tells. */
export function nameOf({ resource, metadata }: LeaseRecord): string | undefined {
  const { name } = metadata ?? {}
  const text = resource.startsWith(HASHED) ? name : resource.slice(PREFIX.length)
  if (typeof text !== 'string') return
  return text.replace(/%([\da-f]{4})/g, (_, unit) => String.fromCharCode(Number.parseInt(unit, 16)))
}

function escapeAll(name: string): string {
  return escapeUnits(name, /[^ -~]|%/g)
}

function escapeUnits(name: string, units: RegExp): string {
  return name.replace(units, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
