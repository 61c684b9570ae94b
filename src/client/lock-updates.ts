import type { Clock } from '../base/clock.ts'
import type { Body } from './api.ts'
import type { LockRequests } from './lock-requests.ts'
import type { LockView } from './lock-view.ts'
import { createSocket, type Socket } from './socket.ts'

/** Doubled with every failed read in a row, up to 64 times. */
const SOONEST_READ_MS = 500
const MOST_DOUBLINGS = 6

export interface LockUpdatesOptions {
  readonly url: string
  readonly clock: Clock
  readonly view: LockView
  readonly requests: LockRequests
  /** Called after the view knows of the event. */
  readonly onEvent: (event: string, data: Body) => void
  /** The connection was opened, the page is visible or restored, or the network is back. */
  readonly onAwake: () => void
  /** The page is closed, or goes into the back/forward cache. */
  readonly onLeave: () => void
}

export interface LockUpdates {
  /** Reads who holds the lock. */
  refresh(): Promise<void>
  close(): void
}

/**
 * Keeps the view up to date, by the room's events and by reading the lock again: after a gap, when the page wakes, and
 * before the lock of another tab would expire, because no event reports the heartbeats of that tab.
 */
export function followLock(options: LockUpdatesOptions): LockUpdates {
  const { url, clock, view, requests, onEvent, onAwake, onLeave } = options
  let socket: Socket | undefined
  let failures = 0
  let isClosed = false
  let cancelRead = () => {}
  let cancelRequest = () => {}

  const unsubscribe = view.subscribe(() => {
    listen()
    readInTime()
    endRequestInTime()
  })
  const unfollowPage = followPage(() => {
    onAwake()
    socket?.checkNow()
    void refresh()
  }, onLeave)
  void refresh()

  return {
    refresh,
    close() {
      isClosed = true
      unsubscribe()
      unfollowPage()
      cancelRead()
      cancelRequest()
      socket?.close()
    },
  }

  async function refresh(): Promise<void> {
    try {
      await requests.read()
      failures = 0
    } catch {
      failures++
    }
    readInTime()
  }

  /** The first response says where the events of the room are. */
  function listen(): void {
    const { terms } = view
    if (socket || !terms) return
    socket = createSocket({
      url,
      key: terms.channel_key,
      channel: terms.channel,
      clock,
      api: requests.api,
      onEvent(event, data) {
        view.onEvent(event, data)
        onEvent(event, data)
      },
      // Events before this were missed.
      onJoined: () => void refresh(),
      onConnection: (connected) => {
        if (connected !== view.state.connected) view.dispatch({ type: 'changed', change: { connected } })
        if (connected) onAwake()
      },
    })
    socket.open()
  }

  function readInTime(): void {
    cancelRead()
    const { holder } = view.state
    if (isClosed || ((!holder || holder.isMe) && failures === 0)) return
    const left = holder ? holder.expiresAt - clock.now() : 0
    const half = (view.terms?.ttl_ms ?? 0) / 2
    const soonest = SOONEST_READ_MS * 2 ** Math.min(failures, MOST_DOUBLINGS)
    const due = Math.max(left > half ? left - half : left, soonest) * (1 + clock.random() / 4)
    cancelRead = clock.setTimer(() => void refresh(), due, true)
  }

  /** A request that was not answered in time is over. */
  function endRequestInTime(): void {
    cancelRequest()
    const { request } = view.state
    if (!request) return
    const end = () => view.dispatch({ type: 'changed', change: { request: null } })
    cancelRequest = clock.setTimer(end, Math.max(0, request.until - clock.now()), true)
  }
}

/** Listens to the page, if there is one. Returns a function that ends this. */
function followPage(onWake: () => void, onLeave: () => void): () => void {
  if (typeof document === 'undefined') return () => {}
  const stop = new AbortController()
  const listen = (target: EventTarget, event: string, listener: () => void) =>
    target.addEventListener(event, listener, { signal: stop.signal })
  listen(document, 'visibilitychange', () => document.visibilityState === 'visible' && onWake())
  listen(document, 'resume', onWake)
  listen(window, 'pageshow', onWake)
  listen(window, 'online', onWake)
  listen(window, 'pagehide', onLeave)
  return () => stop.abort()
}
