import type { Participant } from '../client/index.ts'
import { AVATAR_COLOURS } from './options.ts'

export interface AvatarProps {
  /** The public id of the person. It decides the colour. */
  readonly id: string
  readonly name: string | null
  /** `editing`: with a ring. */
  readonly activity?: Participant['role'] | undefined
  /** The number beside a waiter; 1 is the next one. */
  readonly number?: number | null | undefined
}

/**
 * A person as a coloured circle with initials. It has no text of its own for screen readers: put a name beside it.
 *
 * @example
 * <Avatar id={holder.sessionId} name={holder.name} activity="editing" />
 */
export function Avatar({ id, name, activity = 'viewing', number = null }: AvatarProps) {
  return (
    <span className="holdfast hf-avatar" data-colour={colourOf(id)} data-role={activity} aria-hidden="true">
      {initialsOf(name)}
      {number !== null && <span className="hf-place">{number}</span>}
    </span>
  )
}

/** Such characters are as wide as two letters, and their readers know a person by the first one. */
const WIDE = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u

/** One or two characters, as a person would write them. */
function initialsOf(name: string | null): string {
  const words = (name ?? '').trim().split(/\s+/)
  const [first = '', last = ''] = [words[0], words.length > 1 ? words.at(-1) : ''].map(characterOf)
  const initials = WIDE.test(first) ? first : first + last
  return initials === '' ? '?' : initials.toUpperCase()
}

/** The first character that a person sees, without brackets and the like. It may be several code points. */
function characterOf(word = ''): string {
  const [first] = new Intl.Segmenter().segment(word.replace(/^\p{P}+/u, ''))
  return first?.segment ?? ''
}

function colourOf(id: string): number {
  let hash = 0
  for (const character of id) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003
  return hash % AVATAR_COLOURS
}
