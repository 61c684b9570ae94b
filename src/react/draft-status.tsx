import type { DraftState } from '../client/index.ts'
import { type DraftTexts, draftTexts } from './draft-texts.ts'
import { momentText, useEveryDay } from './moment-text.ts'

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
  useEveryDay()
  const saved = savedAt ? words.savedAt(momentText(Date.parse(savedAt), lang)) : words.nothingSaved
  return (
    <span className="holdfast hf-status" data-status={status} data-empty={savedAt === null}>
      {status === 'saved' ? saved : words.status[status]}
    </span>
  )
}
