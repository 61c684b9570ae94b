/** The version that a content was made from: the token of its save; `null`: nothing was saved yet. */
export type VersionToken = number | null | 'unreadable'

/** A content that exists only in one page, as JSON. */
export interface Unsaved {
  readonly content: unknown
  readonly base: { readonly token: VersionToken; readonly content: unknown }
  /** The other side of a conflict, in a list; empty: there is none. */
  readonly theirs: readonly unknown[]
  /** The latest grant with which this page has tried to save: a version with this token is its own. */
  readonly sentWith: number | null
}

/** One copy of one page. `unsaved` is `null` after everything was saved. */
export interface CopyRecord {
  readonly page: string
  /** The later one of two copies of a page counts. */
  readonly at: number
  readonly unsaved: Unsaved | null
}

/** Another program, or another version of this one, may have written it. */
export function isCopyRecord(value: object): value is CopyRecord {
  const { page, at, unsaved } = value as Partial<CopyRecord>
  if (typeof page !== 'string' || typeof at !== 'number' || unsaved === undefined) return false
  const { base, theirs, sentWith } = Object(unsaved ?? EMPTY) as Partial<Unsaved>
  const { token } = Object(base) as Partial<Unsaved['base']>
  const isToken = token === null || token === 'unreadable' || typeof token === 'number'
  return isToken && Array.isArray(theirs) && (sentWith === null || typeof sentWith === 'number')
}

const EMPTY: Unsaved = { content: null, base: { token: null, content: null }, theirs: [], sentWith: null }
