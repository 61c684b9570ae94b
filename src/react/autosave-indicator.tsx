import { useRef } from 'react'
import { type AutoSave, canRetry } from '../autosave/index.ts'
import { AutoSaveIcon } from './autosave-icon.tsx'
import { type AutoSaveMessage, type AutoSaveTexts, autosaveTexts, messageOf } from './autosave-texts.ts'
import { useAutoSaveSnapshot } from './use-autosave.ts'

export interface AutoSaveIndicatorProps {
  /** `null`: not there yet. */
  readonly autosave: AutoSave<unknown> | null
  /** Default `en`. */
  readonly lang?: 'en' | 'ja'
  /** Replaces single texts. */
  readonly texts?: Partial<AutoSaveTexts>
}

export type AutoSaveTone = 'held' | 'pending' | 'waiting' | 'fallback' | 'lost' | 'unknown'

const TONES: Readonly<Record<AutoSaveMessage, AutoSaveTone>> = {
  nothing: 'held',
  saved: 'held',
  fallback: 'fallback',
  unsaved: 'pending',
  saving: 'pending',
  waiting: 'waiting',
  retrying: 'waiting',
  held: 'lost',
  lost: 'lost',
  conflict: 'lost',
  unsupported: 'lost',
  full: 'lost',
  denied: 'lost',
  failed: 'lost',
  off: 'unknown',
}

/** Seen, but not spoken: they come and go with every pause of the user's. */
const PASSING: readonly AutoSaveMessage[] = ['nothing', 'unsaved', 'saving', 'waiting']

/**
 * A pill that says whether the work is saved, with details on demand. Needs `holdfast/react/styles.css`.
 *
 * @example
 * <AutoSaveIndicator autosave={autosave} lang="ja" />
 */
export function AutoSaveIndicator({ autosave, lang = 'en', texts }: AutoSaveIndicatorProps) {
  const snapshot = useAutoSaveSnapshot(autosave)
  const words = { ...autosaveTexts[lang], ...texts }
  const message = messageOf(snapshot)
  const time = snapshot.savedAt === null ? '' : timeOfDay(snapshot.savedAt, lang)
  const label = words[message].label(time)
  const tone = TONES[message]
  const spoken = useRef('')
  if (!PASSING.includes(message)) spoken.current = label
  return (
    <div className="holdfast hf-autosave" data-tone={tone} data-phase={snapshot.phase} lang={lang}>
      <details>
        <summary>
          <AutoSaveIcon message={message} />
          <span className="hf-label">{label}</span>
        </summary>
        <p className="hf-detail">{words[message].detail}</p>
      </details>
      {canRetry(snapshot) && (
        <button type="button" onClick={() => void autosave?.flushNow()}>
          {words.retry}
        </button>
      )}
      <span role="status" className="hf-spoken">
        {tone === 'lost' ? '' : spoken.current}
      </span>
      <span role="alert" className="hf-spoken">
        {tone === 'lost' ? spoken.current : ''}
      </span>
    </div>
  )
}

function timeOfDay(at: number, lang: string): string {
  return new Date(at).toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hour12: false })
}
