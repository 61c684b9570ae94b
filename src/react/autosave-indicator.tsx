import { type ReactNode, useEffect, useRef, useState } from 'react'
import { type AutoSave, type AutoSaveState, canRetry, canTakeover } from '../autosave/index.ts'
import { type AutoSaveMessage, type AutoSaveTexts, autosaveTexts, messageOf } from './autosave-texts.ts'
import { momentText, useEveryDay } from './moment-text.ts'
import { type Language, useLanguage } from './provider.tsx'
import { useAutoSaveState } from './use-autosave.ts'

export interface AutoSaveIndicatorProps {
  /** `null`: not created yet. */
  readonly autosave: AutoSave<unknown> | null
  /** Default: that of the `<HoldfastProvider>`, or `en`. */
  readonly lang?: Language | undefined
  /** Replaces single texts. */
  readonly texts?: Partial<AutoSaveTexts> | undefined
}

export type AutoSaveTone = 'held' | 'pending' | 'waiting' | 'fallback' | 'lost' | 'unknown'

/** Strokes in a box of 16 by 16. */
const ICONS = {
  check: 'M3.5 8.5l3 3 6-7',
  pencil: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z',
  arrows: 'M13 8a5 5 0 0 1-9.3 2.5M3 8a5 5 0 0 1 9.3-2.5M12.5 2.5v3h-3M3.5 13.5v-3h3',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.3',
  lock: 'M4 7.5h8v5.5H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2',
  warning: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.2v.1',
  dash: 'M4 8h8',
}

const STYLES: Readonly<Record<AutoSaveMessage, readonly [tone: AutoSaveTone, icon: keyof typeof ICONS]>> = {
  nothing: ['held', 'check'],
  saved: ['held', 'check'],
  fallback: ['fallback', 'check'],
  newer: ['waiting', 'warning'],
  unsaved: ['pending', 'pencil'],
  saving: ['pending', 'arrows'],
  opening: ['pending', 'clock'],
  waiting: ['waiting', 'clock'],
  retrying: ['waiting', 'warning'],
  held: ['lost', 'lock'],
  asking: ['pending', 'arrows'],
  lost: ['lost', 'lock'],
  conflict: ['lost', 'lock'],
  unsupported: ['lost', 'lock'],
  full: ['lost', 'warning'],
  denied: ['lost', 'warning'],
  failed: ['lost', 'warning'],
  skipped: ['lost', 'warning'],
  off: ['unknown', 'dash'],
}

/** Shown, but not announced by screen readers, because they change with every pause of the user. */
const SILENT: readonly AutoSaveMessage[] = ['nothing', 'unsaved', 'saving', 'opening', 'waiting']

/**
 * Shows whether the work is saved, with details on demand. Needs `holdfast/react/styles.css`.
 *
 * @example
 * <AutoSaveIndicator autosave={autosave} lang="ja" />
 */
export function AutoSaveIndicator({ autosave, lang: ownLang, texts }: AutoSaveIndicatorProps): ReactNode {
  const lang = useLanguage(ownLang)
  const state = useAutoSaveState(autosave)
  const words = { ...autosaveTexts[lang], ...texts }
  const { box, isOpen, setOpen, message } = useDetails(state)
  useEveryDay()
  const label = words[message].label(state.savedAt === null ? '' : momentText(state.savedAt, lang))
  const [tone, icon] = STYLES[message]
  const announced = useRef('')
  if (!SILENT.includes(message)) announced.current = label
  return (
    <div ref={box} className="holdfast hf-autosave" data-tone={tone} data-phase={state.phase} lang={lang}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary title={label}>
          <svg
            className="hf-icon"
            data-icon={icon}
            viewBox="0 0 16 16"
            width="14"
            height="14"
            aria-hidden="true"
          >
            <path d={ICONS[icon]} />
          </svg>
          <span className="hf-label">{label}</span>
        </summary>
        <p className="hf-detail">{words[message].detail}</p>
      </details>
      {canTakeover(state) && (
        <button type="button" onClick={() => void autosave?.takeover()}>
          {words.takeover}
        </button>
      )}
      {canRetry(state) && !canTakeover(state) && (
        <button type="button" onClick={() => void autosave?.flush()}>
          {words.retry}
        </button>
      )}
      <span role="status" className="hf-spoken">
        {tone === 'lost' ? '' : announced.current}
      </span>
      <span role="alert" className="hf-spoken">
        {tone === 'lost' ? announced.current : ''}
      </span>
    </div>
  )
}

/**
 * The details: Escape and a click outside close them. A damaged save is shown, instead of "saved", until the user has
 * read about it.
 */
function useDetails(state: AutoSaveState) {
  const box = useRef<HTMLDivElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const [seen, setSeen] = useState('')
  const skipped = state.skipped.map(({ id }) => id).join()
  const isNews = skipped !== '' && skipped !== seen && state.phase === 'idle'

  // Also while `isOpen` is false: the browser opens the details before it reports that.
  useEffect(() => {
    const ending = new AbortController()
    const { signal } = ending
    const close = () => {
      const details = box.current?.querySelector('details[open]')
      details?.removeAttribute('open')
      return details
    }
    const onPointer = ({ target }: Event) => {
      if (!box.current?.contains(target as Node)) close()
    }
    const onKey = ({ key }: KeyboardEvent) => {
      if (key === 'Escape') close()?.querySelector('summary')?.focus()
    }
    document.addEventListener('pointerdown', onPointer, { signal })
    document.addEventListener('keydown', onKey, { signal })
    return () => ending.abort()
  }, [])

  useEffect(() => (isOpen && isNews ? () => setSeen(skipped) : undefined), [isOpen, isNews, skipped])

  return {
    box,
    isOpen,
    setOpen: setIsOpen,
    message: isNews ? ('skipped' as const) : messageOf(state),
  }
}
