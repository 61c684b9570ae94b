import type { DraftCodec } from './codecs.ts'
import type { Unsaved } from './copy-record.ts'
import type { Mine } from './reconcile.ts'

export function toUnsaved<T>({ encode }: DraftCodec<T>, mine: Mine<T>): Unsaved {
  const { content, base, theirs, sentWith } = mine
  return {
    content: encode(content()),
    base: { token: base.token, content: encode(base.content) },
    theirs: theirs ? [encode(theirs())] : [],
    sentWith,
  }
}

/** `null`: another program has written it. */
export function fromUnsaved<T>(codec: DraftCodec<T>, unsaved: Unsaved): Mine<T> | null {
  const content = decoded(codec, unsaved.content)
  const base = decoded(codec, unsaved.base.content)
  const [theirs = null, ...others] = unsaved.theirs.map((saved) => decoded(codec, saved))
  if (!content || !base || others.length > 0 || (unsaved.theirs.length > 0 && !theirs)) return null
  return {
    content: () => content[0],
    base: { token: unsaved.base.token, content: base[0], savedAt: null },
    theirs: theirs && (() => theirs[0]),
    isUnsaved: true,
    sentWith: unsaved.sentWith,
  }
}

/** `null`: it cannot be read. */
export function decoded<T>(codec: DraftCodec<T>, saved: unknown): readonly [T] | null {
  try {
    return [codec.decode(saved)]
  } catch {
    return null
  }
}
