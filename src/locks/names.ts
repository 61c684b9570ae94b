/**
 * The name of a lock can be any string: empty, with control characters, of any length. The name of a resource cannot, and
 * it is stored in NFC. So what a resource may not contain is written as `%` and the UTF-16 unit in hex, and a name that
 * is too long as its hash. Different names have different resources.
 */

import { MAX_NAME_BYTES } from '../base/options.ts'
import type { JsonObject } from '../base/records.ts'
import { isLonger } from '../base/resource-name.ts'
import { loadRareParts } from './load-rare-parts.ts'

/** What the resources of all locks begin with. */
export const PREFIX = 'weblock:'
export interface NamedResource {
  readonly resource: string
  /** The name, if the resource contains only its hash. */
  readonly metadata?: JsonObject
}

export async function resourceOf(name: string): Promise<NamedResource> {
  let resource = PREFIX + escapeUnits(name, /[%\p{Cc}\p{Cs}]/gu)
  if (resource !== resource.normalize()) resource = PREFIX + escapeAll(name)
  if (!isLonger(resource, MAX_NAME_BYTES)) return { resource }
  const { hashedResource } = await loadRareParts()
  return hashedResource(PREFIX, escapeAll(name))
}

export function escapeAll(name: string): string {
  return escapeUnits(name, /[^ -~]|%/g)
}

function escapeUnits(name: string, units: RegExp): string {
  return name.replace(units, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
