import type { Clock } from '../base/clock.ts'
import type { Duration } from '../base/duration.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { FIRST_CALL_MS } from '../base/options.ts'
import { pause } from '../base/pause.ts'
import type { DocumentLock } from './document-lock-types.ts'
import type { Holding } from './holding.ts'
import { loadHolding } from './load-holding.ts'
import { createLockRequests, type LockRequests } from './lock-requests.ts'
import { LockUpdates } from './lock-updates.ts'
import { createLockView, type LockView } from './lock-view.ts'
import type { CheckedLockOptions, HeadersOption } from './options.ts'
import type { ReleaseStep } from './release-steps.ts'
import { retryMs } from './retry-ms.ts'

const BACKGROUND = { background: true }

type HoldingModule = Awaited<ReturnType<typeof loadHolding>>

export interface RoomLockOptions extends CheckedLockOptions {
  readonly clientId: string
  /** Resolves when the closed lock of the same id has told the server that it is over. */
  readonly former: Promise<void> | undefined
  /** Whether a later lock has the same id. What this one gives back would then be taken from that one. */
  readonly isFollowed: () => boolean
}

export type DemandMethod = 'takeover' | 'requestHandoff' | 'takeOver' | 'requestHandOver'

/** The lock of one document for one tab, for all lock objects of the page. */
export class RoomLock {
  readonly #options: RoomLockOptions
  /** The name that others see. */
  #name: string | undefined
  readonly #shownName = () => this.#name || undefined
  readonly #requests: LockRequests
  readonly #updates: LockUpdates
  /** Replaced by every release: what was called before no longer wants the lock. */
  #period = {}
  /** `undefined` until it is loaded. Until then nothing was requested, so that there is nothing to give up. */
  holding: Holding | undefined
  readonly clock: Clock
  readonly view: LockView
  isClosed = false
  headers: HeadersOption
  idleAfterMs: number | undefined
  /** The lock objects that use it. */
  readonly objects = new Set<object>()
  /** Their uses of the lock: calls that wait for it, and those that were granted. Empty after a loss. */
  readonly users = new Set<object>()
  /** The steps of all lock objects before the lock is given up. */
  readonly steps = new Set<ReleaseStep>()
  readonly load: DocumentLock['load']

  constructor(options: RoomLockOptions) {
    const { clock, name, headers, idleAfterMs, presence } = options
    const view = createLockView(clock)
    const requests = createLockRequests({
      ...options,
      headers: () => (typeof this.headers === 'function' ? this.headers() : this.headers),
      expectResponse: () => {
        const onResponse = view.expectResponse()
        return (response) => {
          onResponse(response)
          this.holding?.onResponse(response)
          this.#updates.onResponse()
        }
      },
    })
    this.#options = options
    this.#requests = requests
    this.#name = name
    this.headers = headers
    this.idleAfterMs = idleAfterMs
    this.clock = clock
    this.view = view
    this.load = requests.load
    this.#updates = new LockUpdates({
      ...options,
      view,
      requests,
      presentAs: presence ? this.#shownName : undefined,
      onEvent: (event, data) => this.holding?.onEvent(event, data),
      // What could not be loaded may be there now.
      onAwake: () => void (this.holding ? this.holding.resume() : this.#load().catch(() => {})),
      onOffline: () => view.dispatch({ type: 'troubled', error: null }),
      onLeave: () => this.holding?.onLeave(),
    })
    // At once, because most pages acquire soon. If it fails, the next call loads it again.
    const loading = loadHolding()
    if (loading instanceof Promise) loading.then((loaded) => this.#start(loaded)).catch(() => {})
    else this.#start(loading)
  }

  rename(name: string | undefined): void {
    if (name === this.#name) return
    this.#name = name
    // The heartbeat carries the name.
    if (this.holding?.isHeld()) void this.holding.resume()
  }

  async acquire(waitMs: number): Promise<boolean> {
    const holding = this.holding
    if (holding?.isHeld()) return true
    if (this.isClosed) return false
    const isWaiting = this.view.state.phase === 'waiting'
    const outcome = holding ? holding.acquire(waitMs) : this.#acquireWhenLoaded(waitMs)
    if (!waitMs || waitMs === Infinity) return outcome
    // The first request is on its way, and always has this long.
    const limitMs = isWaiting ? waitMs : Math.max(waitMs, FIRST_CALL_MS)
    return Promise.race([outcome, pause(this.clock, limitMs, BACKGROUND).then(() => false)])
  }

  async release(): Promise<void> {
    this.#period = {}
    if (this.holding) await this.holding.release()
    else this.view.dispatch({ type: 'released' })
  }

  async save(content: unknown): Promise<void> {
    const { token, error } = this.view.state
    if (token === null)
      throw new LeaseError('lease-lost', 'acquire the lock before you save', { cause: error })
    await this.holding?.save(content, token)
  }

  async demand(method: DemandMethod): Promise<boolean> {
    if (this.holding) return this.holding[method]()
    const period = this.#period
    try {
      const loaded = await this.#load()
      return period === this.#period && loaded[method]()
    } catch (error) {
      this.view.change({ demand: 'failed', error: error as LeaseError })
      return false
    }
  }

  async answer(answer: boolean | Duration): Promise<void> {
    return (await this.#load()).answer(answer)
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.view.close()
    this.#updates.close()
    await this.release()
  }

  #start({ Holding, Socket }: HoldingModule): Holding {
    this.#updates.connect(Socket)
    this.holding ??= new Holding({
      ...this.#options,
      name: this.#shownName,
      room: this,
      requests: this.#requests,
      updates: this.#updates,
    })
    return this.holding
  }

  async #load(): Promise<Holding> {
    try {
      return this.holding ?? this.#start(await loadHolding())
    } catch (cause) {
      const message = `a part of Holdfast cannot be loaded: ${messageOf(cause)}`
      throw new LeaseError('store-unavailable', message, { cause })
    }
  }

  /** A call that waits tries to load again, as it would ask the server again. */
  async #acquireWhenLoaded(waitMs: number): Promise<boolean> {
    const { clock, view } = this
    const period = this.#period
    const until = waitMs ? clock.monotonic() + Math.max(waitMs, FIRST_CALL_MS) : Infinity
    view.dispatch({ type: 'acquiring' })
    for (let failures = 0; period === this.#period && clock.monotonic() < until; failures++) {
      const loaded = await this.#load().catch((error: LeaseError) => error)
      if (period !== this.#period) break
      if (!(loaded instanceof LeaseError)) return loaded.acquire(waitMs)
      view.dispatch({ type: waitMs ? 'retrying' : 'error', error: loaded })
      if (!waitMs) break
      await pause(clock, retryMs(failures, clock), BACKGROUND)
    }
    return false
  }
}
