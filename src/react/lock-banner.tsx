import { type ReactNode, useEffect, useRef, useState } from 'react'
import { warnOnce } from '../base/warn.ts'
import type { DocumentLock, DocumentLockPhase, DocumentLockState, DraftState } from '../client/index.ts'
import { type Action, contentOf, type DemandKind, isForbidden, SPACES } from './banner-content.ts'
import { withIsolatedNames } from './isolated-name.ts'
import { type LockTexts, lockTexts } from './lock-texts.ts'
import { useEveryDay } from './moment-text.ts'
import { People } from './people.tsx'
import { type Language, useLanguage } from './provider.tsx'
import { type Attention, useAttention } from './use-attention.ts'
import { useLockState } from './use-document-lock.ts'
import { useFrames } from './use-frames.ts'

export interface LockBannerProps {
  /** What `useDocumentLock` returns. `null`: the lock does not exist yet, and the buttons are disabled. */
  readonly lock: DocumentLock | null
  /** Default: the state of the lock. */
  readonly state?: DocumentLockState | undefined
  /** The state of a draft: the banner says that unsaved text is kept when this tab cannot save it. */
  readonly draft?: Pick<DraftState<unknown>, 'isUnsaved'> | undefined
  /** Default: that of the `<HoldfastProvider>`, or `en`. */
  readonly lang?: Language | undefined
  /** Replaces some of the texts. */
  readonly texts?: Partial<LockTexts> | undefined
  /** Calls a person who looks at another tab when somebody asks for the lock, by the title of the page. */
  readonly attention?: Attention | undefined
  /**
   * Runs before the lock is released or handed over, to save unsaved changes. If it fails after a click, the lock is
   * kept.
   */
  readonly onHandoff?: (() => void | Promise<void>) | undefined
  /** @deprecated Use `onHandoff`. */
  readonly onHandOver?: (() => void | Promise<void>) | undefined
}

/** Another document may allow more. */
interface Refusals {
  readonly refused: readonly DemandKind[]
  readonly by: DocumentLock | null
}

/** What the reader must hear at once. */
const ALARMS: readonly DocumentLockPhase[] = ['troubled', 'signed-out', 'lost', 'error']

const TITLE_ONLY: Attention = {}

/** In these, unsaved text is not saved by itself. */
const UNABLE: readonly DocumentLockPhase[] = ['signed-out', 'lost', 'error']

/**
 * Shows who is editing the document, until when, and what the reader can do now.
 *
 * @example
 * const { lock } = useDocumentLock('minutes-42')
 * return <LockBanner lock={lock} lang="ja" />
 */
export function LockBanner(props: LockBannerProps): ReactNode {
  const { lock, draft, texts, attention = TITLE_ONLY, onHandOver, onHandoff = onHandOver } = props
  if (onHandOver) warnOnce('<LockBanner>: the property onHandOver is called onHandoff now')
  const lang = useLanguage(props.lang)
  const current = useLockState(lock)
  const { state: given = current } = props
  const state = withIsolatedNames(given)
  const words = { ...lockTexts[lang], ...texts }
  useEveryDay()
  useAttention(callOf(state, words), attention)
  useBeforeRelease(lock, onHandoff)
  const banner = useRef<HTMLElement>(null)
  /** The token of the holder that the reader may want to take the lock from. */
  const [asked, setAsked] = useState<number | null>(null)
  const confirm = { isAsked: asked !== null && asked === state.holder?.token, ask: setAsked }
  const { demand, refused } = useDemands(lock)
  const { tone, text, detail, actions, until, isCounted } = contentOf({
    state,
    lock,
    words,
    lang,
    confirm,
    demand,
    refused,
    onHandoff,
  })
  const isAlarm = ALARMS.includes(state.phase)
  const isUnknown = state.me === null && !isAlarm
  // The error of the first request. Before its answer, nothing is known about the connection.
  const isOnline = state.connected || isAlarm || (state.me === null && state.error === null)
  const message = !isUnknown ? text : isOnline ? words.connecting : ''
  const kept = draft?.isUnsaved && (isUnknown || UNABLE.includes(state.phase)) ? words.kept : ''
  const fullText = [kept, message, isOnline ? '' : words.offline].filter(Boolean).join(SPACES[lang])
  const press = async (run: Action['run']) => {
    // The button may disappear after the click. The focus stays in the banner.
    banner.current?.focus()
    // The state shows what failed.
    await Promise.resolve(run()).catch(() => {})
  }
  return (
    <section
      ref={banner}
      tabIndex={-1}
      className="holdfast hf-banner"
      data-tone={tone}
      data-phase={state.phase}
      aria-label={words.label}
      lang={lang}
    >
      <span className="hf-dot" aria-hidden="true" />
      <div className="hf-text">
        <p role="status">{isAlarm ? '' : fullText}</p>
        <p role="alert" title={detail}>
          {isAlarm ? fullText : ''}
        </p>
      </div>
      {/* Alone with a document, there is nobody to show. */}
      <People people={state.people.some(({ isMe }) => !isMe) ? state.people : []} lang={lang} texts={texts} />
      <span className="hf-count" aria-hidden="true">
        {until !== undefined && isCounted && <Countdown until={until} words={words} />}
      </span>
      <span className="hf-actions">
        {actions.map(({ text, run, rank }) => (
          <button
            key={text}
            type="button"
            className={rank && `hf-${rank}`}
            disabled={!lock}
            onClick={() => void press(run)}
          >
            {text}
          </button>
        ))}
      </span>
      {until !== undefined && <Drain until={until} />}
    </section>
  )
}

/** Remembers what the server has refused to this person, the latest last. */
function useDemands(lock: DocumentLock | null) {
  const [{ refused, by }, setRefused] = useState<Refusals>({ refused: [], by: null })
  const demand = async (how: DemandKind) => {
    await (how === 'takeover' ? lock?.takeover() : lock?.requestHandoff())
    if (lock && isForbidden(lock.state))
      setRefused((before) => ({ refused: [...(before.by === lock ? before.refused : []), how], by: lock }))
  }
  return { demand, refused: by === lock ? refused : [] }
}

/** What a person must see who looks at another tab. */
function callOf({ request, idle }: DocumentLockState, words: LockTexts): string | null {
  if (idle && !idle.isOver) return words.titleIdle
  const isAsked = request && !request.isOwn && request.postponedUntil === null
  return isAsked ? words.title(request.name, request.kind) : null
}

/** The lock may also be given up without a click here: by another tab of the same person, or by the page. */
function useBeforeRelease(lock: DocumentLock | null, onHandoff: LockBannerProps['onHandoff']): void {
  const latest = useRef(onHandoff)
  useEffect(() => {
    latest.current = onHandoff
  }, [onHandoff])
  useEffect(() => lock?.beforeRelease(() => latest.current?.()), [lock])
}

function Countdown({ until, words }: { readonly until: number; readonly words: LockTexts }) {
  const element = useRef<HTMLSpanElement>(null)
  useFrames(() => {
    const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000))
    if (element.current) element.current.textContent = words.secondsLeft(seconds)
  })
  return <span ref={element} />
}

/** The thin line that gets shorter until the end. It is full when the end becomes known. */
function Drain({ until }: { readonly until: number }) {
  const element = useRef<HTMLSpanElement>(null)
  const full = useRef({ until: 0, ms: 1 })
  useFrames(() => {
    if (full.current.until !== until) full.current = { until, ms: Math.max(1, until - Date.now()) }
    const share = Math.min(1, Math.max(0, (until - Date.now()) / full.current.ms))
    if (element.current) element.current.style.transform = `scaleX(${share})`
  })
  return <span className="hf-drain" ref={element} aria-hidden="true" />
}
