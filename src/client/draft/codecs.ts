import { expectFunction } from '../../base/arguments.ts'
import { mergeJson } from './merge-json.ts'
import { type Merged, mergeText } from './merge-text.ts'

/** How the content of a draft is saved as JSON, and how two versions of it are merged. */
export interface DraftCodec<T> {
  /** The content as the JSON that is saved. */
  encode(content: T): unknown
  /**
   * The content from what was saved; `null`: nothing was saved yet. Throw if another program has saved this: it is then
   * `unreadable`, and overwritten only when the user says so.
   */
  decode(saved: unknown): T
  /** A three-way merge. Without it, two versions always overlap. */
  merge?(base: T, mine: T, theirs: T): Merged<T>
}

/** The content is text. Line ends become `\n`. */
export const textCodec: DraftCodec<string> = {
  encode: withLineFeeds,
  decode(saved) {
    if (saved !== null && typeof saved !== 'string') throw new TypeError('the saved content is not text')
    return withLineFeeds(saved ?? '')
  },
  merge: mergeText,
}

function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

/**
 * The content is any JSON value, `empty` until something was saved. `check` throws if a value is not what you expect,
 * and may return it converted.
 *
 * @example
 * const draft = createDraft(lock, { codec: jsonCodec({ title: '', tags: [] as string[] }) })
 */
export function jsonCodec<T>(
  empty: T,
  check: (saved: unknown) => T = (saved) => saved as T,
): Required<DraftCodec<T>> {
  expectFunction('check', check)
  return {
    encode: (content) => content,
    decode: (saved) => (saved === null ? empty : check(saved)),
    merge: mergeJson,
  }
}
