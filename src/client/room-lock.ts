import type { Clock } from '../base/clock.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { FIRST_CALL_MS } from '../base/options.ts'
import { pause } from '../base/pause.ts'
import type { HeadersOption } from './api.ts'
import type { DocumentLock } from './document-lock-types.ts'
import type { Holding } from './holding.ts'
import { loadHolding } from './load-holding.ts'
import { createLockRequests } from './lock-requests.ts'
import { followLock } from './lock-updates.ts'
import { createLockView, type LockView } from './lock-view.ts'
import type { ReleaseStep } from './release-steps.ts'
import { retryMs } from './retry-ms.ts'

const BACKGROUND = { background: true }

type HoldingModule = Awaited<ReturnType<typeof loadHolding>>

export interface RoomLockOptions {
  readonly url: string
  readonly roomId: string
  readonly clientId: string
  readonly clock: Clock
  readonly name: string | undefined
  readonly headers: HeadersOption
  readonly idleAfterMs: number | undefined
  readonly presence: boolean
  /** Resolves when the closed lock of the same id has told the server that it is over. */
  readonly former: Promise<void> | undefined
  /** Whether a later lock has the same id. What this one gives back would then be taken from that one. */
  readonly isFollowed: () => boolean
}

/** The lock of one document for one tab, for all lock objects of the page. */
export interface RoomLock
  extends Omit<
    DocumentLock,
    | 'url'
    | 'roomId'
    | 'state'
    | 'subscribe'
    | 'acquire'
    | 'beforeRelease'
    | DemandMethod
    | typeof Symbol.asyncDispose
  > {
  readonly clock: Clock
  readonly view: LockView
  /** What requests carry: the name that others see, which `rename` changes, and the headers. And when it is idle. */
  readonly sender: { name: string | undefined; headers: HeadersOption; idleAfterMs: number | undefined }
  /** The lock objects that share it. */
  readonly objects: Set<DocumentLock>
  /** Their uses of the lock: calls that wait for it, and those that were granted. Empty after a loss. */
  readonly users: Set<object>
  /** The steps of all lock objects before the lock is given up. */
  readonly steps: Set<ReleaseStep>
  /** See `Holding`. */
  runSteps(steps: Iterable<ReleaseStep>): Promise<unknown> | undefined
  dropLost(): void
  acquire(waitMs: number): Promise<boolean>
  demand(method: DemandMethod): Promise<boolean>
}

export type DemandMethod = 'takeover' | 'requestHandoff' | 'takeOver' | 'requestHandOver'

export function openRoomLock(options: RoomLockOptions): RoomLock {
  const { url, clock, name, headers, idleAfterMs } = options
  const sender = { name, headers, idleAfterMs }
  const users = new Set<object>()
  const steps = new Set<ReleaseStep>()
  /** `undefined` until it is loaded. Until then nothing was requested, so that there is nothing to give up. */
  let holding: Holding | undefined
  /** Replaced by every release: what was called before no longer wants the lock. */
  let period = {}
  let isClosed = false

  const view = createLockView(clock)
  const { dispatch, change } = view
  const requests = createLockRequests({
    ...options,
    headers: () => (typeof sender.headers === 'function' ? sender.headers() : sender.headers),
    expectResponse() {
      const onResponse = view.expectResponse()
      return (response) => {
        onResponse(response)
        holding?.onResponse(response)
        updates.onResponse()
      }
    },
  })
  const updates = followLock({
    url,
    clock,
    view,
    requests,
    presentAs: options.presence ? () => sender.name || undefined : undefined,
    onEvent: (event, data) => holding?.onEvent(event, data),
    // What could not be loaded may be there now.
    onAwake: () => void (holding ? holding.resume() : load().catch(() => {})),
    onOffline: () => dispatch({ type: 'troubled', error: null }),
    onLeave: () => holding?.onLeave(),
  })
  const lock: RoomLock = {
    clock,
    sender,
    users,
    objects: new Set(),
    view,
    steps,
    load: requests.load,
    runSteps: (chosen) => holding?.runSteps(chosen),
    dropLost: () => holding?.dropLost(),

    rename(name) {
      if (name === sender.name) return
      sender.name = name
      // The heartbeat carries the name.
      if (holding?.isHeld()) void holding.resume()
    },

    async acquire(waitMs) {
      if (holding?.isHeld()) return true
      if (isClosed) return false
      const isWaiting = view.state.phase === 'waiting'
      const outcome = holding ? holding.acquire(waitMs) : acquireWhenLoaded(waitMs)
      if (!waitMs || waitMs === Infinity) return outcome
      // The first request is on its way, and always has this long.
      const limitMs = isWaiting ? waitMs : Math.max(waitMs, FIRST_CALL_MS)
      return Promise.race([outcome, pause(clock, limitMs, BACKGROUND).then(() => false)])
    },

    async release() {
      period = {}
      if (holding) await holding.release()
      else dispatch({ type: 'released' })
    },

    async save(content) {
      const { token } = view.state
      if (token === null) throw new LeaseError('lease-lost', 'acquire the lock before you save')
      await holding?.save(content, token)
    },

    async demand(method) {
      if (holding) return holding[method]()
      const own = period
      try {
        const loaded = await load()
        return own === period && loaded[method]()
      } catch (error) {
        change({ demand: 'failed', error: error as LeaseError })
        return false
      }
    },

    answer: async (answer) => (await load()).answer(answer),

    touch: () => holding?.touch(),

    async close() {
      isClosed = true
      view.close()
      updates.close()
      await lock.release()
    },
  }
  // At once, because most pages acquire soon. If it fails, the next call loads it again.
  const loading = loadHolding()
  if (loading instanceof Promise) loading.then(start).catch(() => {})
  else start(loading)
  return lock

  function start({ createHolding, createSocket }: HoldingModule): Holding {
    updates.connect(createSocket)
    holding ??= createHolding({
      ...options,
      name: () => sender.name || undefined,
      idleAfterMs: () => sender.idleAfterMs,
      view,
      requests,
      updates,
      users,
      steps,
      isClosed: () => isClosed,
    })
    return holding
  }

  async function load(): Promise<Holding> {
    try {
      return holding ?? start(await loadHolding())
    } catch (cause) {
      const message = `a part of Holdfast cannot be loaded: ${messageOf(cause)}`
      throw new LeaseError('store-unavailable', message, { cause })
    }
  }

  /** A call that waits tries to load again, as it would ask the server again. */
  async function acquireWhenLoaded(waitMs: number): Promise<boolean> {
    const own = period
    const until = waitMs ? clock.monotonic() + Math.max(waitMs, FIRST_CALL_MS) : Infinity
    dispatch({ type: 'acquiring' })
    for (let failures = 0; own === period && clock.monotonic() < until; failures++) {
      const loaded = await load().catch((error: LeaseError) => error)
      if (own !== period) break
      if (!(loaded instanceof LeaseError)) return loaded.acquire(waitMs)
      dispatch({ type: waitMs ? 'retrying' : 'error', error: loaded })
      if (!waitMs) break
      await pause(clock, retryMs(failures, clock), BACKGROUND)
    }
    return false
  }
}
