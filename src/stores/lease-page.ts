/** Pages of leases in the order of their resources and tokens. */
import type { LeaseRecord } from '../base/records.ts'
import type { LeasePage, ListQuery } from '../core/index.ts'

/** Between resource and token in a cursor. No name of a resource contains it. */
const SEPARATOR = '\t'

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

/** The `next` of a page that ends with this lease. */
export function nextAfter({ resource, token }: Pick<LeaseRecord, 'resource' | 'token'>): string {
  return `${resource}${SEPARATOR}${token}`
}

/**
 * The order of names: by their code points, as databases order the bytes of UTF-8. JavaScript itself compares UTF-16,
 * where an emoji sorts before `ﬁ`.
 */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  let index = 0
  while (index < length && a.charCodeAt(index) === b.charCodeAt(index)) index++
  if (index === length) return a.length - b.length
  return rankOf(a.charCodeAt(index)) - rankOf(b.charCodeAt(index))
}

/** The halves of a surrogate pair stand for code points after all others. */
function rankOf(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit
}

/** Whether the query asks for leases of this resource. */
export function mayBeListed(resource: string, { prefix = '', after }: ListQuery): boolean {
  const cursor = cursorOf(after)
  const order = compareNames(resource, cursor.resource)
  return (order > 0 || (order === 0 && cursor.token < Infinity)) && resource.startsWith(prefix)
}

/** The first page of the leases that were found, in any order. */
export function pageOf(found: readonly LeaseRecord[], { limit, after }: ListQuery): LeasePage {
  const cursor = cursorOf(after)
  const leases = found
    .filter(({ resource, token }) => resource !== cursor.resource || token > cursor.token)
    .sort((a, b) => compareNames(a.resource, b.resource) || a.token - b.token)
  const page = leases.slice(0, limit)
  const last = page.at(-1)
  return { leases: page, ...(last && leases.length > limit && { next: nextAfter(last) }) }
}
