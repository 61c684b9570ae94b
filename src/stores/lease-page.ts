/** Pages of leases in the order of their resources, as bytes of UTF-8, and of their tokens. */
import type { LeaseRecord } from '../base/records.ts'
import { compareUtf8 } from '../base/utf8-order.ts'
import type { LeasePage, ListQuery } from '../core/index.ts'

/** Between resource and token in a cursor. No name of a resource contains it. */
const SEPARATOR = '\t'

/** Where a page begins. */
export interface Cursor {
  /** Sorts before every name if it is empty. */
  readonly resource: string
  /** Of this resource, only leases with a higher token. `Infinity`: none of them. */
  readonly token: number
}

/** The position after which a page begins. A plain name skips all leases of that resource. */
export function cursorOf(after = ''): Cursor {
  const [resource = '', token] = after.split(SEPARATOR)
  return { resource, token: token === undefined ? Infinity : Number(token) }
}

/** The `next` of a page that ends with this lease. An exclusive one has no others beside it, so its name is enough. */
export function nextAfter({ resource, token, share }: LeaseRecord): string {
  return share === null ? resource : `${resource}${SEPARATOR}${token}`
}

/** Whether the query asks for leases of this resource. */
export function mayBeListed(resource: string, { prefix = '', after }: ListQuery): boolean {
  const cursor = cursorOf(after)
  const order = compareUtf8(resource, cursor.resource)
  const isAfter = order > 0 || (order === 0 && cursor.token < Infinity)
  return isAfter && resource.startsWith(prefix)
}

/** The first page of the leases that were found, in any order. */
export function pageOf(found: readonly LeaseRecord[], { limit, after }: ListQuery): LeasePage {
  const cursor = cursorOf(after)
  const leases = found
    .filter(({ resource, token }) => resource !== cursor.resource || token > cursor.token)
    .sort((a, b) => compareUtf8(a.resource, b.resource) || a.token - b.token)
  return cutPage(leases, limit)
}

/** The first page of leases in order, of which there may be more than the page has. */
export function cutPage(ordered: readonly LeaseRecord[], limit: number): LeasePage {
  const leases = ordered.slice(0, limit)
  const last = leases.at(-1)
  return { leases, ...(last && ordered.length > limit && { next: nextAfter(last) }) }
}
