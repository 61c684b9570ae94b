import { useRef } from 'react'
import type { DocumentHolder, DocumentLock, DocumentLockState } from '../client/index.ts'
import { type LockTexts, lockTexts, type Who } from './lock-texts.ts'
import { useFrames } from './use-frames.ts'

export interface LockBannerProps {
  readonly state: DocumentLockState
  readonly lock: DocumentLock | null
  /** Default `en`. */
  readonly lang?: 'en' | 'ja'
  /** Replaces some of the texts. */
  readonly texts?: Partial<LockTexts>
  /** Runs before the lock is released or handed over, to save unsaved changes. If it fails, the lock is kept. */
  readonly onHandOver?: () => void | Promise<void>
}

/** The meaning of the banner's colour. */
type Tone = 'held' | 'pending' | 'waiting' | 'lost' | 'unknown'

interface BannerContent {
  readonly tone: Tone
  readonly text: string
  /** Technical, for whoever runs the page. */
  readonly detail?: string | undefined
  readonly actions: readonly Action[]
  /** When the countdown ends. */
  readonly until?: number | undefined
}

interface Action {
  readonly text: string
  readonly run: () => unknown
  /** `primary`: what most readers want to do. `quiet`: an alternative, shown as a link. */
  readonly rank?: 'primary' | 'quiet'
}

/**
 * Shows who is editing the document, until when, and what the reader can do now.
 *
 * @example
 * const { state, lock } = useDocumentLock('minutes-42')
 * return <LockBanner state={state} lock={lock} lang="ja" />
 */
export function LockBanner({ state, lock, lang = 'en', texts, onHandOver }: LockBannerProps) {
  const words = { ...lockTexts[lang], ...texts }
  const banner = useRef<HTMLElement>(null)
  const { tone, text, detail, actions, until } = contentOf(state, lock, words, lang, onHandOver)
  const isAlarm = state.phase === 'lost' || state.phase === 'error'
  const message = state.me === null && !isAlarm ? words.connecting : text
  const isOnline = state.connected || state.me === null || isAlarm
  const fullText = isOnline ? message : `${message} ${words.offline}`
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
    >
      <span className="hf-dot" aria-hidden="true" />
      <div className="hf-text">
        <p role="status">{isAlarm ? '' : fullText}</p>
        <p role="alert" title={detail}>
          {isAlarm ? fullText : ''}
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

function contentOf(
  state: DocumentLockState,
  lock: DocumentLock | null,
  words: LockTexts,
  lang: string,
  onHandOver: LockBannerProps['onHandOver'],
): BannerContent {
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
