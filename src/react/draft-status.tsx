import type { DraftState } from '../client/index.ts'
import { type DraftTexts, draftTexts } from './draft-texts.ts'

export interface DraftStatusTextProps {
  readonly state: Pick<DraftState<unknown>, 'status' | 'savedAt'>
  /** Default `en`. */
  readonly lang?: 'en' | 'ja'
  /** Replaces some of the texts. */
  readonly texts?: Partial<DraftTexts>
}

/**
 * Whether everything is saved, in a word or two, with the time of the last save.
 *
 * @example
 * <DraftStatusText state={state} />
 */
export function DraftStatusText({ state: { status, savedAt }, lang = 'en', texts }: DraftStatusTextProps) {
  const words = { ...draftTexts[lang], ...texts }
  const saved = savedAt ? words.savedAt(timeOf(new Date(savedAt), lang)) : words.nothingSaved
  return (
    <span className="holdfast hf-status" data-status={status} data-empty={savedAt === null}>
      {status === 'saved' ? saved : words.status[status]}
    </span>
  )
}

/** The time of day; with the date if it is not today's. */
function timeOf(time: Date, lang: string): string {
  const clock = time.toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  const today = new Date()
  if (time.toDateString() === today.toDateString()) return clock
  const isThisYear = time.getFullYear() === today.getFullYear()
  const date = time.toLocaleDateString(lang, {
    day: 'numeric',
    month: 'short',
    ...(!isThisYear && { year: 'numeric' }),
  })
  return `${date} ${clock}`
}
