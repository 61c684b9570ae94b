import { useRef } from 'react'
import type { DocumentHolder, DocumentLock, DocumentLockState } from '../client/index.ts'
import { type LockTexts, lockTexts, type Who } from './lock-texts.ts'
import { useFrames } from './use-frames.ts'

export interface LockBannerProps {
  readonly state: DocumentLockState
  readonly lock: DocumentLock | null
  /** Default `en`. */
  readonly lang?: 'en' | 'ja'
  /** Replaces single texts. */
  readonly texts?: Partial<LockTexts>
  /** Runs before the lock is given back or handed over, to save what is not saved yet. If it fails, the lock stays. */
  readonly onHandOver?: () => void | Promise<void>
}

/** What the colour of the bar and the word beside it say. */
type Tone = 'held' | 'pending' | 'waiting' | 'lost' | 'unknown'

interface Saying {
  readonly tone: Tone
  readonly text: string
  /** For whoever runs the page. */
  readonly detail?: string | undefined
  readonly actions: readonly Action[]
  /** Until when the thin line empties. */
  readonly until?: number | undefined
}

interface Action {
  readonly text: string
  readonly run: () => unknown
  /** `primary`: what one most likely wants. `quiet`: what else one may do, without asking for attention. */
  readonly rank?: 'primary' | 'quiet'
}

/**
 * Who edits the document, until when, and the one thing that makes sense to do now.
 *
 * @example
 * const { state, lock } = useDocumentLock('minutes-42')
 * return <LockBanner state={state} lock={lock} lang="ja" />
 */
export function LockBanner({ state, lock, lang = 'en', texts, onHandOver }: LockBannerProps) {
  const words = { ...lockTexts[lang], ...texts }
  const banner = useRef<HTMLElement>(null)
  const { tone, text, detail, actions, until } = sayingOf(state, lock, words, lang, onHandOver)
  const isAlarm = state.phase === 'lost' || state.phase === 'error'
  const said = state.me === null && !isAlarm ? words.connecting : text
  const line = state.connected || state.me === null || isAlarm ? said : `${said} ${words.offline}`
  const press = async (run: Action['run']) => {
    // The button may go with the answer; the focus stays here.
    banner.current?.focus()
    // What fails is told by the state.
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
    >
      <span className="hf-dot" aria-hidden="true" />
      <div className="hf-text">
        <p role="status">{isAlarm ? '' : line}</p>
        <p role="alert" title={detail}>
          {isAlarm ? line : ''}
        </p>
      </div>
      <span className="hf-count" aria-hidden="true">
        {until !== undefined && <Countdown until={until} words={words} />}
      </span>
      <span className="hf-actions">
        {actions.map(({ text, run, rank }) => (
          <button key={text} type="button" className={rank && `hf-${rank}`} onClick={() => void press(run)}>
            {text}
          </button>
        ))}
      </span>
      {until !== undefined && <Drain until={until} />}
    </section>
  )
}

function sayingOf(
  state: DocumentLockState,
  lock: DocumentLock | null,
  words: LockTexts,
  lang: string,
  onHandOver: LockBannerProps['onHandOver'],
): Saying {
  const { phase, holder, request, demand, place, error } = state
  const other = holder && !holder.isMe ? whoOf(holder, lang) : null
  const edit: Action = { text: words.edit, run: () => lock?.acquire(), rank: 'primary' }
  const queue: Action = { text: words.wait, run: () => lock?.acquire({ wait: Infinity }), rank: 'primary' }
  const leave: Action = { text: words.leaveLine, run: () => lock?.release() }
  const ask: Action = { text: words.ask, run: () => lock?.requestHandOver(), rank: 'quiet' }
  const takeOver: Action = { text: words.takeOver, run: () => lock?.takeOver(), rank: 'quiet' }
  const isPending = demand === 'asking' || demand === 'taking-over'
  const until = holder?.expiresAt
  switch (phase) {
    case 'idle':
      return { tone: 'unknown', text: words.nobody, actions: [edit] }
    case 'acquiring':
      return { tone: 'pending', text: words.asking, actions: [] }
    case 'waiting':
      return {
        tone: 'waiting',
        text: demand ? words.demand[demand](other?.name ?? null) : words.waiting(other, place),
        actions: isPending ? [leave] : [leave, ask, takeOver],
        until,
      }
    case 'held': {
      const afterSaving = (run: () => unknown) => async () => {
        await onHandOver?.()
        await run()
      }
      const stop = { text: words.stop, run: afterSaving(() => lock?.release()) }
      if (!request) return { tone: 'held', text: words.editing, actions: [stop], until }
      const handOver = afterSaving(() => lock?.answer(true))
      return request.kind === 'take-over'
        ? { tone: 'waiting', text: words.takenOver(request.name), actions: [stop], until: request.until }
        : {
            tone: 'waiting',
            text: words.requested(request.name),
            actions: [
              { text: words.handOver, run: handOver, rank: 'primary' },
              { text: words.keep, run: () => lock?.answer(false) },
            ],
            until: request.until,
          }
    }
    case 'read-only':
      return {
        tone: 'lost',
        text: demand
          ? words.demand[demand](other?.name ?? null)
          : other
            ? words.readOnly(other)
            : words.nobody,
        actions: isPending ? [queue] : [queue, ask, takeOver],
        until,
      }
    case 'lost':
      return {
        tone: 'lost',
        text: other ? words.lostTo(other) : words.lost,
        actions: [other ? queue : { ...edit, text: words.editAgain }],
        until: other ? until : undefined,
      }
    case 'error':
      return {
        tone: 'lost',
        text: words.failed(error?.message ?? '', error?.code),
        detail: error?.message,
        actions: error?.retryable ? [{ ...edit, text: words.editAgain }] : [],
      }
  }
}

function whoOf({ name, since }: DocumentHolder, lang: string): Who {
  return {
    name,
    since: new Date(since).toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hour12: false }),
  }
}

function Countdown({ until, words }: { readonly until: number; readonly words: LockTexts }) {
  const element = useRef<HTMLSpanElement>(null)
  useFrames(() => {
    const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000))
    if (element.current) element.current.textContent = words.secondsLeft(seconds)
  })
  return <span ref={element} />
}

/** The thin line that empties with the lease; full is what was left when it was told. */
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
