/** What the banner of a lock says in each phase, and what the reader can do then. */
import type { DocumentHolder, DocumentLock, DocumentLockState } from '../client/index.ts'
import type { LockTexts, Who } from './lock-texts.ts'
import { momentText } from './moment-text.ts'
import { POSTPONE } from './options.ts'
import type { Language } from './provider.tsx'

/** The meaning of the banner's colour. */
type Tone = 'held' | 'pending' | 'waiting' | 'lost' | 'unknown'

export interface BannerContent {
  readonly tone: Tone
  readonly text: string
  /** Technical, for the person who runs the page. */
  readonly detail?: string | undefined
  readonly actions: readonly Action[]
  /** When the line that gets shorter ends. */
  readonly until?: number | undefined
  /** Whether the seconds until then are shown, too: only if nobody renews the lock by then. */
  readonly isCounted?: boolean
}

export interface Action {
  readonly text: string
  readonly run: () => unknown
  /** `primary`: what most readers want to do. `quiet`: an alternative, shown as a link. */
  readonly rank?: 'primary' | 'quiet'
}

export interface BannerInput {
  readonly state: DocumentLockState
  readonly lock: DocumentLock | null
  readonly words: LockTexts
  readonly lang: Language
  /** Whether the reader was asked to confirm a takeover, and a function that asks. `null` withdraws the question. */
  readonly confirm: { readonly isAsked: boolean; readonly ask: (token: number | null) => void }
  /** Asks the holder for the lock, or takes it over. */
  readonly demand: (how: DemandKind) => unknown
  /** What the server has refused to this person, the latest last. */
  readonly refused: readonly DemandKind[]
  /** Saves before the lock is released or handed over. */
  readonly onHandoff: (() => void | Promise<void>) | undefined
}

/** As the server names them. */
export type DemandKind = 'takeover' | 'request'

/** Between two sentences. */
export const SPACES = { en: ' ', ja: '' }

export function contentOf(input: BannerInput): BannerContent {
  const { state, confirm } = input
  const { phase, holder } = state
  const isOwnTab = holder?.isMe === false && holder.sessionId === state.me?.sessionId
  const isReading = phase === 'waiting' || phase === 'read-only'
  if (confirm.isAsked && otherOf(input) && !isPending(state) && isReading) return confirmation(input)
  if (isOwnTab && (isReading || phase === 'lost')) return inOwnTab(input)
  return byPhase[phase](input)
}

const byPhase: Readonly<Record<DocumentLockState['phase'], (input: BannerInput) => BannerContent>> = {
  idle: (input) => ({
    tone: 'unknown',
    text: sentences(input, input.state.idle?.isOver && input.words.wasIdle, input.words.nobody),
    actions: [editAction(input)],
  }),

  acquiring: ({ words }) => ({ tone: 'pending', text: words.asking, actions: [] }),

  waiting(input) {
    const { state, words } = input
    const { passedBy, place } = state
    const other = otherOf(input)
    const leave = leaveAction(input)
    const first = demandText(input) ?? (passedBy && words.passedBy(passedBy.name))
    return {
      tone: 'waiting',
      text: first === null ? words.waiting(other, place) : sentences(input, first, words.place(place)),
      actions: isPending(state) ? [leave] : [leave, ...demandActions(input)],
      ...postponement(state),
    }
  },

  held: whileHeld,

  troubled: ({ state: { error, holder }, words }) => ({
    tone: 'waiting',
    text: words.troubled,
    detail: error?.message,
    actions: [],
    until: holder?.expiresAt,
    isCounted: true,
  }),

  'signed-out'(input) {
    const { held, error, holder } = input.state
    return {
      tone: 'waiting',
      text: input.words.signedOut(held),
      detail: error?.message,
      actions: held ? [] : [editAgainAction(input)],
      until: held ? holder?.expiresAt : undefined,
      isCounted: true,
    }
  },

  'read-only'(input) {
    const { state, words } = input
    const { idle } = state
    const other = otherOf(input)
    return {
      tone: 'unknown',
      text:
        demandText(input) ??
        sentences(input, idle?.isOver && words.wasIdle, other ? words.readOnly(other) : words.nobody),
      actions: isPending(state) ? pendingActions(input) : [queueAction(input), ...demandActions(input)],
      ...postponement(state),
    }
  },

  lost(input) {
    const { state, words } = input
    const other = otherOf(input)
    return {
      tone: 'lost',
      text: !state.connected ? words.lostOffline : other ? words.lostTo(other) : words.lost,
      actions: [other ? queueAction(input) : editAgainAction(input)],
    }
  },

  error(input) {
    const { error } = input.state
    return {
      tone: 'lost',
      text: input.words.failed(error?.message ?? '', error?.code),
      detail: error?.message,
      actions: error?.retryable ? [editAgainAction(input)] : [],
    }
  },
}

/** The reader wants to take the lock over. */
function confirmation(input: BannerInput): BannerContent {
  const { words, confirm, demand } = input
  return {
    tone: 'waiting',
    text: words.confirmTakeover(otherOf(input)?.name ?? null),
    actions: [
      { text: words.cancel, run: () => confirm.ask(null) },
      {
        text: words.takeover,
        run() {
          confirm.ask(null)
          return demand('takeover')
        },
      },
    ],
  }
}

/** The reader edits in another tab. */
function inOwnTab(input: BannerInput): BannerContent {
  const { state, lock, words } = input
  const { demand, phase } = state
  const isMoving = isPending(state)
  const editHere: Action = { text: words.editHere, run: () => lock?.requestHandoff(), rank: 'primary' }
  return {
    tone: isMoving ? 'pending' : 'unknown',
    text: isMoving ? words.movingHere : demand === 'failed' ? words.demand.failed(null) : words.ownTab,
    actions: [...(isMoving ? [] : [editHere]), ...(phase === 'waiting' ? [leaveAction(input)] : [])],
  }
}

function whileHeld(input: BannerInput): BannerContent {
  const { state, lock, words } = input
  const { holder, idle, request, waiting, waiters } = state
  const stop = { text: words.stop, run: afterSaving(input, () => lock?.release()) }
  const keepOn: Action = { text: words.keep, run: () => lock?.touch(), rank: 'primary' }
  if (idle && !idle.isOver)
    return {
      tone: 'waiting',
      text: words.stillEditing(request?.name ?? waiters[0]?.name ?? null),
      actions: [keepOn, stop],
      until: idle.until,
      isCounted: true,
    }
  if (request) return whileAsked(input, request)
  const text = words.editing(waiting, waiters[0]?.name)
  return { tone: 'held', text, actions: [stop], until: holder?.expiresAt }
}

/** Somebody asks the holder for the lock. */
function whileAsked(input: BannerInput, request: NonNullable<DocumentLockState['request']>): BannerContent {
  const { lock, words } = input
  const run = afterSaving(input, () => lock?.answer(true))
  const handoff: Action = { text: words.handoff, run, rank: 'primary' }
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

function afterSaving({ onHandoff }: BannerInput, run: () => unknown): () => Promise<void> {
  return async () => {
    await onHandoff?.()
    await run()
  }
}

function editAction({ lock, words }: BannerInput): Action {
  return { text: words.edit, run: () => lock?.acquire(), rank: 'primary' }
}

function editAgainAction(input: BannerInput): Action {
  return { ...editAction(input), text: input.words.editAgain }
}

function queueAction({ lock, words }: BannerInput): Action {
  return { text: words.wait, run: () => lock?.acquire({ wait: Infinity }), rank: 'primary' }
}

function leaveAction({ lock, words }: BannerInput): Action {
  return { text: words.leaveLine, run: () => lock?.release() }
}

/** Those who have asked may also get in line. A takeover is over in a moment. */
function pendingActions(input: BannerInput): Action[] {
  const { text, run } = queueAction(input)
  return input.state.demand === 'taking-over' ? [] : [{ text, run }]
}

/** Asks for the lock that another person has, or takes it over. */
function demandActions({ state, words, confirm, demand, refused }: BannerInput): Action[] {
  const { holder } = state
  const ask: Action = { text: words.ask, run: () => demand('request'), rank: 'quiet' }
  const takeover: Action = {
    text: words.takeover,
    run: () => confirm.ask(holder?.token ?? null),
    rank: 'quiet',
  }
  return [...(refused.includes('request') ? [] : [ask]), ...(refused.includes('takeover') ? [] : [takeover])]
}

/** What became of the reader's demand; `null` without one. */
function demandText(input: BannerInput): string | null {
  const { state, words, refused } = input
  const latest = isForbidden(state) ? refused.at(-1) : undefined
  if (latest) return words.mayNot[latest]
  return state.demand && words.demand[state.demand](otherOf(input)?.name ?? null)
}

/** Whether the server has refused the demand to this person. */
export function isForbidden({ demand, error }: DocumentLockState): boolean {
  return demand === 'failed' && Object(error?.cause).error === 'forbidden'
}

/** Whether this tab has asked for the lock, and nothing is decided. */
function isPending({ demand }: DocumentLockState): boolean {
  return demand === 'asking' || demand === 'taking-over' || demand === 'postponed'
}

/** While the holder has asked for time. */
function postponement({ demand, postponedUntil }: DocumentLockState): Partial<BannerContent> {
  return demand === 'postponed' ? { until: postponedUntil ?? undefined, isCounted: true } : {}
}

/** Who holds the lock, if it is not this tab. */
function otherOf({ state: { holder }, lang }: BannerInput): Who | null {
  return holder && !holder.isMe ? whoOf(holder, lang) : null
}

function whoOf({ name, since }: DocumentHolder, lang: string): Who {
  return { name, since: momentText(since, lang) }
}

function sentences({ lang }: BannerInput, ...parts: (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(SPACES[lang])
}
