import { type ReactNode, useState } from 'react'
import type { DocumentLock, Draft, DraftState } from '../client/index.ts'
import { type DraftTexts, draftTexts } from './draft-texts.ts'
import { type Language, useLanguage } from './provider.tsx'
import { TextComparison, type TextComparisonProps } from './text-comparison.tsx'
import { useLockState } from './use-document-lock.ts'

export interface DraftNoticeProps<T> {
  readonly state: DraftState<T>
  readonly draft: Draft<T> | null
  /** The lock of the draft, as `useDraft` returns it. */
  readonly lock?: DocumentLock | null | undefined
  /** Whether this tab has the lock. Default: what `lock` says. */
  readonly isHeld?: boolean | undefined
  /** Default: that of the `<HoldfastProvider>`, or `en`. */
  readonly lang?: Language | undefined
  /** Replaces some of the texts. */
  readonly texts?: Partial<DraftTexts> | undefined
  /** Content as text, to copy and to compare it. Default: text as it is, anything else as JSON. */
  readonly toText?: ((content: T) => string) | undefined
  /** Compares two texts in place of `TextComparison`, for example with the editor of your page. */
  readonly compare?: ((texts: Omit<TextComparisonProps, 'lang' | 'texts'>) => ReactNode) | undefined
}

/**
 * What a person must know about unsaved content: why it is not saved, that it is kept, and what can be done. It can be
 * copied, compared where others have changed the same words, saved or dropped. It renders nothing while all is well.
 *
 * @example
 * const { state, draft, lock } = useDraft('minutes-42')
 * return <DraftNotice state={state} draft={draft} lock={lock} />
 */
export function DraftNotice<T>(notice: DraftNoticeProps<T>): ReactNode {
  const { texts, lang: ownLang, lock = null, ...rest } = notice
  const lang = useLanguage(ownLang)
  const { held } = useLockState(lock)
  const props = { ...rest, isHeld: rest.isHeld ?? held }
  const { status, dropped, error } = props.state
  const { draft } = props
  const words = { ...draftTexts[lang], ...texts }
  if (!draft) return null
  // Without a connection it is not known what others have saved. The banner says that the text is kept.
  const isKept = status === 'refused' || status === 'conflict' || (status === 'kept' && error === null)
  return (
    <>
      {dropped !== null && (
        <section className="holdfast hf-notice" data-tone="quiet">
          <p role="status" lang={lang}>
            {words.tookTheirs}
          </p>
          <span className="hf-actions" lang={lang}>
            <button type="button" onClick={() => draft.bringBack()}>
              {words.bringBack}
            </button>
          </span>
        </section>
      )}
      {status === 'unreadable' && <Unreadable {...props} draft={draft} lang={lang} words={words} />}
      {isKept && <Kept {...props} draft={draft} lang={lang} words={words} />}
    </>
  )
}

interface PartProps<T> extends Omit<DraftNoticeProps<T>, 'texts' | 'lock'> {
  readonly draft: Draft<T>
  readonly isHeld: boolean
  readonly lang: Language
  readonly words: DraftTexts
}

function Kept<T>({ draft, state, isHeld, words, lang, compare, toText = asText }: PartProps<T>) {
  const { status, isOutdated, theirs, error } = state
  const [copied, setCopied] = useState(false)
  const [isComparing, setComparing] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(toText(state.content))
    setCopied(true)
  }
  const isConflict = status === 'conflict'
  const isText = typeof state.content === 'string'
  const compared = theirs !== null && {
    theirs: toText(theirs),
    mine: toText(state.content),
    ...(isText && { onEdit: (mine: string) => draft.edit(mine as T) }),
  }
  const [taken, setTaken] = useState<{ readonly before: T; readonly theirs: T } | null>(null)
  // If others have saved since, the text from before lacks what they have written.
  const before = taken !== null && taken.theirs === theirs ? taken.before : null
  const takePart = (mine: string) => {
    setTaken({ before: before ?? state.content, theirs: theirs as T })
    if (mine !== theirs) return draft.edit(mine as T)
    // Nothing is left to decide. All that was taken can be brought back.
    if (before !== null) draft.edit(before)
    draft.takeTheirs()
  }
  const bringBack = () => {
    setTaken(null)
    if (before !== null) draft.edit(before)
  }
  return (
    <section className="holdfast hf-notice" data-tone="lost" data-outdated={isOutdated}>
      <p role="alert" lang={lang} title={status === 'refused' ? error?.message : undefined}>
        {messageOf(state, isHeld, words)}
      </p>
      <span className="hf-actions" lang={lang}>
        {isConflict && (
          <button
            type="button"
            className="hf-primary"
            aria-expanded={isComparing}
            onClick={() => setComparing(!isComparing)}
          >
            {isComparing ? words.closeCompare : words.compare}
          </button>
        )}
        {isConflict && isHeld && (
          // The state shows what failed.
          <button type="button" onClick={() => void draft.takeMine().catch(() => {})}>
            {words.saveMine}
          </button>
        )}
        <button type="button" onClick={() => draft.takeTheirs()}>
          {isConflict ? words.takeTheirs : words.drop}
        </button>
        {before !== null && isConflict && (
          <button type="button" onClick={bringBack}>
            {words.bringBack}
          </button>
        )}
        {typeof navigator === 'object' && navigator.clipboard && (
          <button type="button" onClick={() => void copy().catch(() => {})}>
            {copied ? words.copied : words.copy}
          </button>
        )}
      </span>
      {compared && isComparing && (
        <div className="hf-comparison">
          {compare ? (
            compare(compared)
          ) : (
            <TextComparison {...compared} {...(isText && { onEdit: takePart })} lang={lang} texts={words} />
          )}
        </div>
      )}
    </section>
  )
}

/** The stored content cannot be shown. Nothing overwrites it by itself. */
function Unreadable<T>({ draft, state: { isUnsaved }, isHeld, lang, words }: PartProps<T>) {
  return (
    <section className="holdfast hf-notice" data-tone="lost">
      <p role="alert" lang={lang}>
        {words.unreadable}
      </p>
      {isHeld && (
        <span className="hf-actions" lang={lang}>
          <button
            type="button"
            className="hf-primary"
            disabled={!isUnsaved}
            onClick={() => void draft.takeMine().catch(() => {})}
          >
            {words.saveMine}
          </button>
          <button type="button" disabled={!isUnsaved} onClick={() => draft.takeTheirs()}>
            {words.drop}
          </button>
        </span>
      )}
    </section>
  )
}

function messageOf({ status, isOutdated, error }: DraftState<unknown>, isHeld: boolean, words: DraftTexts) {
  if (status === 'conflict') return words.conflict(isHeld)
  if (status === 'kept') return isOutdated ? words.outdated : words.kept(isHeld)
  const { status: code, limit } = Object(error?.cause)
  return code === 413 ? words.tooLong(typeof limit === 'number' ? limit : null) : words.refused
}

function asText(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content, null, 2)
}
