import type { Clock } from '../base/clock.ts'
import { asLeaseError, type LeaseError } from '../base/errors.ts'
import { type Body, hint, isSignedOut, retryAfterOf } from './api.ts'
import type { LockRequests } from './lock-requests.ts'
import type { DocumentLockPhase } from './lock-state.ts'
import type { LockView } from './lock-view.ts'
import type { Socket, SocketOptions } from './socket.ts'

/** Doubled with every failed read in a row, up to 64 times. */
const SOONEST_READ_MS = 500
const MOST_DOUBLINGS = 6
/** While no events arrive, a change is seen after this time. */
const POLL_MS = 2000

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

export interface LockUpdates {
  /** Opens the socket as soon as the server has said where the events are. Until then the lock is read often. */
  connect(createSocket: CreateSocket): void
  /** Reads who holds the lock. */
  refresh(): Promise<void>
  /** The server has answered a request. */
  onResponse(): void
  close(): void
}

type CreateSocket = (options: SocketOptions) => Socket

/**
 * Keeps the view up to date, by the room's events and by reading the lock again: after a gap, when the page wakes,
 * before the lock of another tab would expire, because no event reports the heartbeats of that tab, and often while
 * no events arrive.
 */
export function followLock(options: LockUpdatesOptions): LockUpdates {
  const { url, clock, view, requests, presentAs, onEvent, onAwake, onOffline, onLeave } = options
  let createSocket: CreateSocket | undefined
  let socket: Socket | undefined
  /** The server has answered a read. */
  let isRead = false
  let isSocketOpen = false
  let failures = 0
  /** The server did not answer the last read. */
  let isUnreachable = false
  /** The server has asked for no read before this time. */
  let notBefore = -Infinity
  let isClosed = false
  let cancelRead = () => {}

  const unsubscribe = view.subscribe(() => {
    listen()
    readInTime()
  })
  const onWake = () => {
    onAwake()
    socket?.checkNow()
    void refresh()
  }
  const unfollowPage = followPage({ onWake, onOffline, onLeave })
  void refresh()

  return {
    refresh,
    connect(create) {
      createSocket = create
      listen()
    },
    onResponse() {
      const { connected, phase } = view.state
      if (!connected) view.change({ connected: true, ...(isPassive(phase) && { error: null }) })
      // The server is back, so the socket need not wait for its next attempt. If the server has answered all the
      // time, and only sockets fail, they have their own pauses.
      if (isUnreachable) socket?.checkNow()
      isUnreachable = false
    },
    close() {
      isClosed = true
      unsubscribe()
      unfollowPage()
      cancelRead()
      socket?.close()
    },
  }

  async function refresh(): Promise<void> {
    const wasRead = isRead
    try {
      await requests.read()
      failures = 0
      isRead = true
      // What was saved between two reads is not known, unless the events tell it.
      if (wasRead && !socket?.isJoined) onGap()
    } catch (error) {
      failures++
      onReadFailed(asLeaseError(error))
    }
    readInTime()
  }

  /** Events before this were missed. */
  function onGap(): void {
    view.change({ gaps: view.state.gaps + 1 })
  }

  function onReadFailed(error: LeaseError): void {
    const { phase, me } = view.state
    const isUnknown = isPassive(phase) && me === null
    isUnreachable = error.code === 'store-unavailable'
    notBefore = clock.monotonic() + retryAfterOf(error)
    if (error.retryable && !isSocketOpen) view.change({ connected: false, ...(isUnknown && { error }) })
    if (isPassive(phase) && isSignedOut(error)) view.dispatch({ type: 'signed-out', error })
    // The first response is not Holdfast's, so the page knows nothing about the document.
    else if (isUnknown && !error.retryable) view.dispatch({ type: 'error', error })
  }

  /** The first response says where the events of the room are. */
  function listen(): void {
    const { terms } = view
    if (socket || isClosed || !terms || !createSocket) return
    socket = createSocket({
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
      // Events before this were missed.
      onJoined() {
        onGap()
        void refresh()
      },
      onConnection(isOpen) {
        const wasOpen = isSocketOpen
        isSocketOpen = isOpen
        if (isClosed) return
        if (isOpen || wasOpen) view.change({ connected: isOpen })
        if (isOpen) onAwake()
        else if (wasOpen) void refresh()
        else if (view.state.connected) hint(url, 'polling')
      },
    })
    socket.open()
  }

  function readInTime(): void {
    cancelRead()
    const { holder } = view.state
    // Nobody looks at a hidden page, and it reads again when it is shown.
    const isPolling = !socket?.isJoined && view.terms !== null && !globalThis.document?.hidden
    if (isClosed || ((!holder || holder.isMe) && failures === 0 && !isPolling)) return
    const left = holder ? holder.expiresAt - clock.now() : POLL_MS
    const half = (view.terms?.ttl_ms ?? 0) / 2
    const latest = isPolling ? POLL_MS : Infinity
    const soonest = SOONEST_READ_MS * 2 ** Math.min(failures, MOST_DOUBLINGS)
    const wanted = Math.min(left > half ? left - half : left, latest)
    const due = Math.max(wanted, soonest, notBefore - clock.monotonic()) * (1 + clock.random() / 4)
    cancelRead = clock.setTimer(() => void refresh(), due, true)
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
