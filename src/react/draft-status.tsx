import type { ReactNode } from 'react'
import type { DraftState } from '../client/index.ts'
import { type DraftTexts, draftTexts } from './draft-texts.ts'
import { momentText, useEveryDay } from './moment-text.ts'
import { type Language, useLanguage } from './provider.tsx'

export interface DraftStatusTextProps {
  readonly state: Pick<DraftState<unknown>, 'status' | 'savedAt'>
  /** Default: that of the `<HoldfastProvider>`, or `en`. */
  readonly lang?: Language | undefined
  /** Replaces some of the texts. */
  readonly texts?: Partial<DraftTexts> | undefined
}

/**
 * Whether everything is saved, in a word or two, with the time of the last save.
 *
 * @example
 * <DraftStatusText state={state} />
 */
export function DraftStatusText({ state, lang: ownLang, texts }: DraftStatusTextProps): ReactNode {
  const { status, savedAt } = state
  const lang = useLanguage(ownLang)
  const words = { ...draftTexts[lang], ...texts }
  useEveryDay()
  const saved = savedAt ? words.savedAt(momentText(Date.parse(savedAt), lang)) : words.nothingSaved
  return (
    <span className="holdfast hf-status" data-status={status} data-empty={savedAt === null} lang={lang}>
      {status === 'saved' ? saved : words.status[status]}
    </span>
  )
}
