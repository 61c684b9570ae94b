import type { Clock } from '../base/clock.ts'
import { asLeaseError, type LeaseError } from '../base/errors.ts'
import { type Body, hint, isSignedOut, retryAfterOf } from './api.ts'
import type { LockRequests } from './lock-requests.ts'
import type { DocumentLockPhase } from './lock-state.ts'
import type { LockView } from './lock-view.ts'
import { MOST_READ_DOUBLINGS, POLL_MS, SOONEST_READ_MS } from './options.ts'
import type { Socket, SocketOptions } from './socket.ts'

export interface LockUpdatesOptions {
  readonly url: string
  readonly clock: Clock
  readonly view: LockView
  readonly requests: LockRequests
  /** The name that others in the room see; `undefined`: this tab is not shown to those who only look. */
  readonly presentAs: (() => string | undefined) | undefined
  /** Called after the view knows of the event. */
  readonly onEvent: (event: string, data: Body) => void
  /** The connection was opened, the page is visible or restored, or the network is back. */
  readonly onAwake: () => void
  readonly onOffline: () => void
  /** The page is closed, or goes into the back/forward cache. */
  readonly onLeave: () => void
}

type SocketClass = new (options: SocketOptions) => Socket

/**
 * Keeps the view up to date, by the room's events and by reading the lock again: after a gap, when the page wakes,
 * before the lock of another tab would expire, because no event reports the heartbeats of that tab, and often while
 * no events arrive.
 */
export class LockUpdates {
  readonly #options: LockUpdatesOptions
  readonly #endings: readonly (() => void)[]
  #socketClass: SocketClass | undefined
  #socket: Socket | undefined
  #isSocketOpen = false
  /** The server has answered a read. */
  #isRead = false
  #failures = 0
  /** The server did not answer the last read. */
  #isUnreachable = false
  /** The server has asked for no read before this time. */
  #notBefore = -Infinity
  #isClosed = false
  #cancelRead = () => {}

  constructor(options: LockUpdatesOptions) {
    const { view, onAwake, onOffline, onLeave } = options
    this.#options = options
    const onChange = () => {
      this.#listen()
      this.#readInTime()
    }
    const onWake = () => {
      onAwake()
      this.#socket?.checkNow()
      void this.refresh()
    }
    this.#endings = [view.subscribe(onChange), followPage({ onWake, onOffline, onLeave })]
    void this.refresh()
  }

  /** Opens the socket as soon as the server has said where the events are. Until then the lock is read often. */
  connect(socketClass: SocketClass): void {
    this.#socketClass = socketClass
    this.#listen()
  }

  /** Reads who holds the lock. */
  async refresh(): Promise<void> {
    const wasRead = this.#isRead
    try {
      await this.#options.requests.read()
      this.#failures = 0
      this.#isRead = true
      // What was saved between two reads is not known, unless the events tell it.
      if (wasRead && !this.#socket?.isJoined) this.#onGap()
    } catch (error) {
      this.#failures++
      this.#onReadFailed(asLeaseError(error))
    }
    this.#readInTime()
  }

  /** The server has answered a request. */
  onResponse(): void {
    const { view } = this.#options
    const { connected, phase } = view.state
    if (!connected) view.change({ connected: true, ...(isPassive(phase) && { error: null }) })
    // The server is back, so the socket need not wait for its next attempt. If the server has answered all the
    // time, and only sockets fail, they have their own pauses.
    if (this.#isUnreachable) this.#socket?.checkNow()
    this.#isUnreachable = false
  }

  close(): void {
    this.#isClosed = true
    for (const end of this.#endings) end()
    this.#cancelRead()
    this.#socket?.close()
  }

  /** Events before this were missed. */
  #onGap(): void {
    const { view } = this.#options
    view.change({ gaps: view.state.gaps + 1 })
  }

  #onReadFailed(error: LeaseError): void {
    const { clock, view } = this.#options
    const { phase, me } = view.state
    const isUnknown = isPassive(phase) && me === null
    this.#isUnreachable = error.code === 'store-unavailable'
    this.#notBefore = clock.monotonic() + retryAfterOf(error)
    if (error.retryable && !this.#isSocketOpen) view.change({ connected: false, ...(isUnknown && { error }) })
    if (isPassive(phase) && isSignedOut(error)) view.dispatch({ type: 'signed-out', error })
    // The first response is not Holdfast's, so the page knows nothing about the document.
    else if (isUnknown && !error.retryable) view.dispatch({ type: 'error', error })
  }

  /** The first response says where the events of the room are. */
  #listen(): void {
    const { url, clock, view, requests, presentAs, onEvent } = this.#options
    const { terms } = view
    if (this.#socket || this.#isClosed || !terms || !this.#socketClass) return
    this.#socket = new this.#socketClass({
      url,
      key: terms.channel_key,
      // The forms of a room's channel have the same events.
      channels: [presentAs ? terms.channel.replace(/^(private-)?/, 'presence-') : terms.channel],
      name: presentAs,
      clock,
      api: requests.api,
      onEvent(event, data) {
        // Those of the channel itself say nothing about the lock.
        if (!event.startsWith('pusher')) view.onEvent(event, data)
        onEvent(event, data)
      },
      onJoined: () => {
        this.#onGap()
        void this.refresh()
      },
      onConnection: (isOpen) => this.#onConnection(isOpen),
    })
    this.#socket.open()
  }

  #onConnection(isOpen: boolean): void {
    const { url, view, onAwake } = this.#options
    const wasOpen = this.#isSocketOpen
    this.#isSocketOpen = isOpen
    if (this.#isClosed) return
    if (isOpen || wasOpen) view.change({ connected: isOpen })
    if (isOpen) onAwake()
    else if (wasOpen) void this.refresh()
    else if (view.state.connected) hint(url, 'polling')
  }

  #readInTime(): void {
    const { clock, view } = this.#options
    const { holder } = view.state
    const failures = this.#failures
    this.#cancelRead()
    // Nobody looks at a hidden page, and it reads again when it is shown.
    const isPolling = !this.#socket?.isJoined && view.terms !== null && !globalThis.document?.hidden
    if (this.#isClosed || ((!holder || holder.isMe) && failures === 0 && !isPolling)) return
    const left = holder ? holder.expiresAt - clock.now() : POLL_MS
    const half = (view.terms?.ttl_ms ?? 0) / 2
    const latest = isPolling ? POLL_MS : Infinity
    const soonest = SOONEST_READ_MS * 2 ** Math.min(failures, MOST_READ_DOUBLINGS)
    const wanted = Math.min(left > half ? left - half : left, latest)
    const due = Math.max(wanted, soonest, this.#notBefore - clock.monotonic()) * (1 + clock.random() / 4)
    this.#cancelRead = clock.setTimer(() => void this.refresh(), due, true)
  }
}

/** This tab neither has the lock nor asks for it. */
function isPassive(phase: DocumentLockPhase): boolean {
  return phase === 'idle' || phase === 'read-only'
}

interface PageListeners {
  readonly onWake: () => void
  readonly onOffline: () => void
  readonly onLeave: () => void
}

/** Listens to the page, if there is one. Returns a function that ends this. */
function followPage({ onWake, onOffline, onLeave }: PageListeners): () => void {
  if (!globalThis.document) return () => {}
  const stop = new AbortController()
  const listen = (target: EventTarget, event: string, listener: () => void) =>
    target.addEventListener(event, listener, { signal: stop.signal })
  listen(document, 'visibilitychange', () => document.hidden || onWake())
  listen(document, 'resume', onWake)
  listen(window, 'pageshow', onWake)
  listen(window, 'online', onWake)
  listen(window, 'offline', onOffline)
  listen(window, 'pagehide', onLeave)
  return () => stop.abort()
}
