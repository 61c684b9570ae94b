import { type ReactNode, useEffect, useRef, useState } from 'react'
import { warnOnce } from '../base/warn.ts'
import type {
  DocumentHolder,
  DocumentLock,
  DocumentLockPhase,
  DocumentLockState,
  DraftState,
} from '../client/index.ts'
import { type LockTexts, lockTexts, type Who } from './lock-texts.ts'
import { momentText, useEveryDay } from './moment-text.ts'
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

/** What the reader must hear at once. */
const ALARMS: readonly DocumentLockPhase[] = ['troubled', 'signed-out', 'lost', 'error']

/** Between two sentences. */
const SPACES = { en: ' ', ja: '' }

const TITLE_ONLY: Attention = {}
const POSTPONE = '2m'

/** In these, unsaved text is not saved by itself. */
const UNABLE: readonly DocumentLockPhase[] = ['signed-out', 'lost', 'error']

/** The meaning of the banner's colour. */
type Tone = 'held' | 'pending' | 'waiting' | 'lost' | 'unknown'

interface BannerContent {
  readonly tone: Tone
  readonly text: string
  /** Technical, for whoever runs the page. */
  readonly detail?: string | undefined
  readonly actions: readonly Action[]
  /** When the line that gets shorter ends. */
  readonly until?: number | undefined
  /** Whether the seconds until then are shown, too: only if nobody renews the lock by then. */
  readonly isCounted?: boolean
}

interface Action {
  readonly text: string
  readonly run: () => unknown
  /** `primary`: what most readers want to do. `quiet`: an alternative, shown as a link. */
  readonly rank?: 'primary' | 'quiet'
}

interface Confirmation {
  readonly isAsked: boolean
  readonly ask: (token: number | null) => void
}

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
  const { state = current } = props
  const words = { ...lockTexts[lang], ...texts }
  useEveryDay()
  useAttention(callOf(state, words), attention)
  useBeforeRelease(lock, onHandoff)
  const banner = useRef<HTMLElement>(null)
  /** The token of the holder that the reader may want to take the lock from. */
  const [asked, setAsked] = useState<number | null>(null)
  const confirm = { isAsked: asked !== null && asked === state.holder?.token, ask: setAsked }
  const { tone, text, detail, actions, until, isCounted } = contentOf(
    state,
    lock,
    words,
    lang,
    confirm,
    onHandoff,
  )
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

function contentOf(
  state: DocumentLockState,
  lock: DocumentLock | null,
  words: LockTexts,
  lang: Language,
  confirm: Confirmation,
  onHandoff: LockBannerProps['onHandoff'],
): BannerContent {
  const { phase, holder, held, request, passedBy, demand, idle, place, waiting, waiters, connected, error } =
    state
  const isOwnTab = holder?.isMe === false && holder.sessionId === state.me?.sessionId
  const other = holder && !holder.isMe ? whoOf(holder, lang) : null
  const edit: Action = { text: words.edit, run: () => lock?.acquire(), rank: 'primary' }
  const queue: Action = { text: words.wait, run: () => lock?.acquire({ wait: Infinity }), rank: 'primary' }
  const leave: Action = { text: words.leaveLine, run: () => lock?.release() }
  const ask: Action = { text: words.ask, run: () => lock?.requestHandoff(), rank: 'quiet' }
  const takeover: Action = {
    text: words.takeover,
    run: () => confirm.ask(holder?.token ?? null),
    rank: 'quiet',
  }
  const editHere: Action = { text: words.editHere, run: () => lock?.requestHandoff(), rank: 'primary' }
  const isPending = demand === 'asking' || demand === 'taking-over' || demand === 'postponed'
  /** While the holder has asked for time. */
  const later = demand === 'postponed' ? { until: state.postponedUntil ?? undefined, isCounted: true } : {}
  const until = holder?.expiresAt
  if (confirm.isAsked && other && !isPending && (phase === 'waiting' || phase === 'read-only'))
    return {
      tone: 'waiting',
      text: words.confirmTakeover(other.name),
      actions: [
        { text: words.cancel, run: () => confirm.ask(null) },
        {
          text: words.takeover,
          run() {
            confirm.ask(null)
            return lock?.takeover()
          },
        },
      ],
    }
  if (isOwnTab && (phase === 'waiting' || phase === 'read-only' || phase === 'lost'))
    return {
      tone: isPending ? 'pending' : 'unknown',
      text: isPending ? words.movingHere : demand === 'failed' ? words.demand.failed(null) : words.ownTab,
      actions: [...(isPending ? [] : [editHere]), ...(phase === 'waiting' ? [leave] : [])],
    }
  switch (phase) {
    case 'idle':
      return {
        tone: 'unknown',
        text: idle?.isOver ? [words.wasIdle, words.nobody].join(SPACES[lang]) : words.nobody,
        actions: [edit],
      }
    case 'acquiring':
      return { tone: 'pending', text: words.asking, actions: [] }
    case 'waiting':
      return {
        tone: 'waiting',
        text: demand
          ? [words.demand[demand](other?.name ?? null), words.place(place)].join(SPACES[lang])
          : passedBy
            ? [words.passedBy(passedBy.name), words.place(place)].join(SPACES[lang])
            : words.waiting(other, place),
        actions: isPending ? [leave] : [leave, ask, takeover],
        ...later,
      }
    case 'held': {
      const afterSaving = (run: () => unknown) => async () => {
        await onHandoff?.()
        await run()
      }
      const stop = { text: words.stop, run: afterSaving(() => lock?.release()) }
      const keepOn: Action = { text: words.keep, run: () => lock?.touch(), rank: 'primary' }
      if (idle && !idle.isOver)
        return {
          tone: 'waiting',
          text: words.stillEditing(request?.name ?? waiters[0]?.name ?? null),
          actions: [keepOn, stop],
          until: idle.until,
          isCounted: true,
        }
      if (!request)
        return { tone: 'held', text: words.editing(waiting, waiters[0]?.name), actions: [stop], until }
      const handoff: Action = {
        text: words.handoff,
        run: afterSaving(() => lock?.answer(true)),
        rank: 'primary',
      }
      const keep: Action = { text: words.keep, run: () => lock?.answer(false) }
      const postpone: Action = { text: words.postpone, run: () => lock?.answer(POSTPONE) }
      if (request.isOwn) return { tone: 'pending', text: words.movingAway, actions: [] }
      if (request.postponedUntil !== null)
        return {
          tone: 'waiting',
          text: words.postponed(request.name),
          actions: [handoff, keep],
          until: request.postponedUntil,
          isCounted: true,
        }
      const passed = request.passes.map(({ name }) => name)
      const isTakeover = request.kind === 'takeover'
      return {
        tone: 'waiting',
        text: isTakeover ? words.takenOver(request.name, passed) : words.requested(request.name, passed),
        actions: isTakeover ? [handoff] : [handoff, postpone, keep],
        until: request.until,
        isCounted: true,
      }
    }
    case 'troubled':
      return {
        tone: 'waiting',
        text: words.troubled,
        detail: error?.message,
        actions: [],
        until,
        isCounted: true,
      }
    case 'signed-out':
      return {
        tone: 'waiting',
        text: words.signedOut(held),
        detail: error?.message,
        actions: held ? [] : [{ ...edit, text: words.editAgain }],
        until: held ? until : undefined,
        isCounted: true,
      }
    case 'read-only':
      return {
        tone: 'unknown',
        text: demand
          ? words.demand[demand](other?.name ?? null)
          : [idle?.isOver ? words.wasIdle : '', other ? words.readOnly(other) : words.nobody]
              .filter(Boolean)
              .join(SPACES[lang]),
        actions: isPending ? [queue] : [queue, ask, takeover],
        ...later,
      }
    case 'lost':
      return {
        tone: 'lost',
        text: !connected ? words.lostOffline : other ? words.lostTo(other) : words.lost,
        actions: [other ? queue : { ...edit, text: words.editAgain }],
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

/** What a person must see who looks at another tab. */
function callOf({ request, idle }: DocumentLockState, words: LockTexts): string | null {
  if (idle && !idle.isOver) return words.titleIdle
  const isAsked = request && !request.isOwn && request.postponedUntil === null
  return isAsked ? words.title(request.name, request.kind) : null
}

function whoOf({ name, since }: DocumentHolder, lang: string): Who {
  return { name, since: momentText(since, lang) }
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
