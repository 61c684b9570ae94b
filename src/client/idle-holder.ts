/**
 * A holder who went away with the page open. Loaded with `holding.ts`.
 *
 *     active ──no input for `idleAfter`, and somebody waits or asks──▶ asked ──no input──▶ handed over
 *       ▲────────────── any input, or nobody waits any more ─────────────┘
 */
import type { Clock } from '../base/clock.ts'
import type { LockView } from './lock-view.ts'
import { ASK_IDLE_MS, TO_ANSWER_MS } from './rare-options.ts'

const INPUT = ['keydown', 'pointerdown', 'pointermove', 'wheel', 'input'] as const

export interface IdleHolderOptions {
  readonly clock: Clock
  readonly view: LockView
  /** `undefined`: a holder is never asked. */
  readonly idleAfterMs: () => number | undefined
  /** Saves, and gives the lock to the one who asks or waits. */
  readonly handOver: () => Promise<unknown>
}

/** Returns a function to call after each input that the page itself does not see, such as in an iframe. */
export function watchIdleHolder({ clock, view, idleAfterMs, handOver }: IdleHolderOptions): () => void {
  let lastInput = -Infinity
  let cancel = () => {}
  /** Set while this tab has the lock. */
  let listening: AbortController | undefined
  view.subscribe(check)
  return onInput

  function check(): void {
    const { held, idle } = view.state
    if (held && !listening) onGranted()
    if (!held && listening) onEnded()
    cancel()
    const limitMs = idleAfterMs()
    const wantedUntil = held && limitMs !== undefined ? wantedBy() : undefined
    if (limitMs === undefined || wantedUntil === undefined) {
      if (idle && !idle.isOver) view.change({ idle: null })
      return
    }
    const leftMs = lastInput + limitMs - clock.monotonic()
    if (leftMs > 0) cancel = clock.setTimer(check, leftMs, true)
    else if (!idle) view.change({ idle: { until: wantedUntil, isOver: false } })
    else if (!idle.isOver) cancel = clock.setTimer(end, Math.max(0, idle.until - clock.now()), true)
  }

  /** Until when an idle holder is asked; `undefined`: nobody wants the lock. */
  function wantedBy(): number | undefined {
    const { waiting, request } = view.state
    const isAsked = request?.kind === 'request' && request.postponedUntil === null && !request.isOwn
    if (!isAsked && waiting === 0) return undefined
    const now = clock.now()
    return isAsked
      ? Math.max(now, Math.min(now + ASK_IDLE_MS, request.until - TO_ANSWER_MS))
      : now + ASK_IDLE_MS
  }

  function end(): void {
    const { idle } = view.state
    if (!idle) return
    view.change({ idle: { ...idle, isOver: true } })
    handOver().catch(() => {
      // Still the holder, so it is asked again.
      if (view.state.held) view.change({ idle: null })
    })
  }

  function onInput(): void {
    lastInput = clock.monotonic()
    if (view.state.idle) view.change({ idle: null })
  }

  function onGranted(): void {
    listening = new AbortController()
    const options = { signal: listening.signal, capture: true, passive: true }
    for (const type of INPUT) globalThis.document?.addEventListener(type, onInput, options)
    onInput()
  }

  function onEnded(): void {
    listening?.abort()
    listening = undefined
  }
}
