import type { Participant } from '../client/index.ts'
import { Avatar } from './avatar.tsx'
import { isolatedName } from './isolated-name.ts'
import { type LockTexts, lockTexts } from './lock-texts.ts'
import { MAX_SHOWN_PEOPLE } from './options.ts'

export interface PeopleProps {
  /** `people` of the state of a lock. */
  readonly people: readonly Participant[]
  /** Default `en`. */
  readonly lang?: 'en' | 'ja' | undefined
  /** Replaces some of the texts. */
  readonly texts?: Partial<LockTexts> | undefined
}

/**
 * The people in view of a document, as overlapping avatars: the editor has a ring, waiters have numbers.
 *
 * @example
 * const { state } = useDocumentLock('minutes-42', { presence: true })
 * return <People people={state.people} />
 */
export function People({ people, lang = 'en', texts }: PeopleProps) {
  const words = { ...lockTexts[lang], ...texts }
  const more = people.length - MAX_SHOWN_PEOPLE
  return (
    <ul className="holdfast hf-people" aria-label={words.people} hidden={people.length === 0}>
      {people.slice(0, MAX_SHOWN_PEOPLE).map((person) => {
        const { sessionId, name, role, place } = person
        const text = words.person({ ...person, name: isolatedName(name) })
        return (
          <li key={sessionId} title={text}>
            <Avatar id={sessionId} name={name} activity={role} number={place === null ? null : place + 1} />
            <span className="hf-hidden">{text}</span>
          </li>
        )
      })}
      {more > 0 && <li className="hf-more">{words.morePeople(more)}</li>}
    </ul>
  )
}
