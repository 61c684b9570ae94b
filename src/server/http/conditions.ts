/** `If-Match` and `If-None-Match` of RFC 9110, for a content whose ETag is its revision. */
import { HttpError } from './http-error.ts'
import type { HeaderOf } from './request-headers.ts'

/** A revision: the content must be at exactly this one. A function: whether it may be at this one. */
export type Condition = number | ((revision: number) => boolean)

/** The condition on which a request may change the content; `undefined`: there is none. */
export function conditionOf(header: HeaderOf): Condition | undefined {
  const [match, noMatch] = [tagsOf('If-Match', header), tagsOf('If-None-Match', header)]
  if (match === undefined && noMatch === undefined) return undefined
  if (noMatch === undefined && Array.isArray(match) && match.length === 1 && Number.isInteger(match[0]))
    return match[0]
  return (revision) =>
    (match === undefined || isAmong(revision, match)) &&
    (noMatch === undefined || !isAmong(revision, noMatch))
}

/** Whether the caller of a read has this revision already. A malformed header is no condition. */
export function isKnown(header: HeaderOf, revision: number): boolean {
  const tags = parseTags(header('if-none-match') ?? '')
  return tags !== null && isAmong(revision, tags)
}

export function etagOf(revision: number): string {
  return `"${revision}"`
}

/** `*`: any content. Tags that are not of this server are `NaN`. */
type Tags = '*' | readonly number[]

/** Revision 0 stands for no content. */
function isAmong(revision: number, tags: Tags): boolean {
  return tags === '*' ? revision !== 0 : tags.includes(revision)
}

function tagsOf(name: 'If-Match' | 'If-None-Match', header: HeaderOf): Tags | undefined {
  const text = header(name.toLowerCase())
  if (text === undefined) return undefined
  const tags = parseTags(text)
  if (tags) return tags
  throw new HttpError(
    400,
    'invalid_if_match',
    `${name}: expected * or ETags of a read or a save, such as "1893499200000"`,
  )
}

/** A proxy that compresses may have made a tag weak. */
const TAG = /\s*(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(,|$)/gy

/** `null`: malformed. */
function parseTags(text: string): Tags | null {
  if (text.trim() === '*') return '*'
  const found = [...text.matchAll(TAG)]
  const isWhole = found.reduce((length, [tag]) => length + tag.length, 0) === text.length
  const isEnded = found.at(-1)?.[2] === ''
  if (!isWhole || !isEnded) return null
  return found.map(([, tag = '']) => (/^\d{1,16}$/.test(tag) ? Number(tag) : Number.NaN))
}
