import type { DraftCodec } from './codecs.ts'
import type { VersionToken } from './copy-record.ts'
import type { Merged } from './merge-text.ts'

/** A content that is read when it is needed, and then only once. Another edit has another function. */
export type Lazy<T> = () => T

/** A version that the server has, or had. */
export interface Version<T> {
  readonly token: VersionToken
  /** Of an unreadable version: the last one that could be read. */
  readonly content: T
  readonly savedAt: string | null
}

/** What the user has typed. */
export interface Mine<T> {
  readonly content: Lazy<T>
  /** The version that it was made from. Only this one may be overwritten. */
  readonly base: Version<T>
  /** In a conflict: the content with their words. */
  readonly theirs: Lazy<T> | null
  readonly isUnsaved: boolean
  /** The latest grant with which it was sent: a version with this token is the user's own. */
  readonly sentWith: number | null
}

export interface Reconciled<T> {
  readonly mine: Mine<T>
  /**
   * - `same`: the server has this content.
   * - `newer`: it was made from what is stored, and can be saved.
   * - `behind`: others have changed other parts. It can be merged when this tab has the lock.
   * - `overlap`: others have changed the same parts. The user decides.
   */
  readonly outcome: 'same' | 'newer' | 'behind' | 'overlap'
}

export function lazy<T>(content: T | Lazy<T>): Lazy<T> {
  if (typeof content !== 'function') return () => content
  let read: Lazy<T> | undefined = content as Lazy<T>
  let value: T
  return () => {
    if (read) value = read()
    read = undefined
    return value
  }
}

export function unchanged<T>(version: Version<T>): Mine<T> {
  return { content: () => version.content, base: version, theirs: null, isUnsaved: false, sentWith: null }
}

/** Whether nobody else has saved since this was made. A holder saves many versions with one token. */
export function isOwn<T>({ base, sentWith }: Mine<T>, stored: Version<T>, codec: DraftCodec<T>): boolean {
  const { token, content } = stored
  if (token !== null && token === sentWith) return true
  return token === base.token && (token === 'unreadable' || isSame(codec, base.content, content))
}

/**
 * What the user's content is, now that this version is stored. Separate edits are merged while this tab has the lock.
 * A conflict stays one until the user has decided, also if others go on writing: then both sides of it move along.
 */
export function reconcile<T>(
  mine: Mine<T>,
  stored: Version<T>,
  isHeld: boolean,
  codec: DraftCodec<T>,
): Reconciled<T> {
  if (isSame(codec, mine.content(), stored.content))
    return { mine: { ...unchanged(stored), content: mine.content }, outcome: 'same' }
  if (!mine.isUnsaved) return { mine: unchanged(stored), outcome: 'same' }
  if (isOwn(mine, stored, codec))
    return { mine: { ...mine, base: stored }, outcome: mine.theirs ? 'overlap' : 'newer' }
  const base = mine.base.content
  const merged = merge(codec, base, mine.content(), stored.content)
  if (!mine.theirs && merged.overlaps === 0 && !isHeld) return { mine, outcome: 'behind' }
  const theirs = mine.theirs ? merge(codec, base, mine.theirs(), stored.content).theirs : merged.theirs
  if (isSame(codec, merged.mine, stored.content)) return { mine: unchanged(stored), outcome: 'same' }
  const isDecided = isSame(codec, merged.mine, theirs)
  return {
    mine: { ...mine, content: () => merged.mine, base: stored, theirs: isDecided ? null : () => theirs },
    outcome: isDecided ? 'newer' : 'overlap',
  }
}

function merge<T>(codec: DraftCodec<T>, base: T, mine: T, theirs: T): Merged<T> {
  const overlap = { mine, theirs, overlaps: 1 }
  try {
    return codec.merge?.(base, mine, theirs) ?? overlap
  } catch {
    // The user compares the two as they are.
    return overlap
  }
}

export function isSame<T>({ encode }: DraftCodec<T>, a: T, b: T): boolean {
  try {
    return Object.is(a, b) || JSON.stringify(encode(a)) === JSON.stringify(encode(b))
  } catch {
    // A content that cannot be encoded cannot be what is stored.
    return false
  }
}
