import { type Complete, definedIn, expectOptions, refuse } from '../base/arguments.ts'
import { type Duration, millisOf } from '../base/duration.ts'
import {
  type Ask,
  type CallOptions,
  type Clock,
  LeaseError,
  type LeaseStore,
  type StoreEvent,
  systemClock,
  type WaitingQuery,
} from '../core/index.ts'

/** Probabilities from 0 to 1, and delays. */
export interface Faults {
  /** Each way, between these two. */
  readonly delay?: readonly [min: Duration, max: Duration] | undefined
  /** The request never arrives and no answer ever comes. */
  readonly loseRequest?: number | undefined
  /** The request is carried out, and its answer never comes. */
  readonly loseAnswer?: number | undefined
  /** Rejects; nothing was done. */
  readonly failBefore?: number | undefined
  /** The request is carried out, and the caller sees an error. */
  readonly failAfter?: number | undefined
  /** The request arrives a second time, later. */
  readonly duplicate?: number | undefined
  /** A wake-up, a loss or a watch event is not delivered. */
  readonly losePush?: number | undefined
  /** `read` and `list` answer what they answered before. */
  readonly staleRead?: number | undefined
}

export interface ChaosOptions {
  readonly faults?: Faults | undefined
  readonly clock?: Clock | undefined
  /** From 0 up to 1. Default: the clock's. */
  readonly random?: (() => number) | undefined
}

export interface ChaosStore extends LeaseStore {
  /** What goes wrong from now on; `{}` for nothing. */
  faults: Faults
}

/**
 * A store behind a bad network: requests and answers are delayed, lost, doubled and reordered.
 *
 * @example
 * const store = chaosStore(memoryStore(), { faults: { loseAnswer: 0.1, delay: [0, 50] } })
 */
export function chaosStore(store: LeaseStore, options: ChaosOptions = {}): ChaosStore {
  expectOptions(options, { faults: 1, clock: 1, random: 1 })
  const { clock = systemClock, random = () => clock.random() } = options
  const lastAnswers = new Map<string, unknown>()

  const strikes = (probability = 0) => probability > 0 && random() < probability

  function later(run: () => void): void {
    const { delay } = chaos.faults
    if (!delay) {
      run()
      return
    }
    const [min, max] = [millisOf(delay[0]), millisOf(delay[1])]
    clock.setTimer(run, min + (max - min) * random())
  }

  function call<T>(work: () => Promise<T>): Promise<T> {
    const { loseRequest, loseAnswer, failBefore, failAfter, duplicate } = chaos.faults
    if (strikes(loseRequest)) return new Promise<T>(() => {})
    if (strikes(duplicate)) later(() => later(() => void work().catch(() => {})))
    return new Promise<T>((resolve, reject) => {
      const unavailable = () => reject(new LeaseError('store-unavailable', 'the connection was lost (chaos)'))
      later(() => {
        if (strikes(failBefore)) return later(unavailable)
        work().then(
          (answer) => {
            if (strikes(loseAnswer)) return
            later(strikes(failAfter) ? unavailable : () => resolve(answer))
          },
          (error) => later(() => reject(error)),
        )
      })
    })
  }

  async function read<T>(key: string, work: () => Promise<T>): Promise<T> {
    const stale = lastAnswers.get(key)
    if (stale !== undefined && strikes(chaos.faults.staleRead)) return stale as T
    const answer = await call(work)
    lastAnswers.set(key, answer)
    return answer
  }

  function push<A extends unknown[]>(deliver: (...args: A) => void): (...args: A) => void {
    return (...args) => {
      if (!strikes(chaos.faults.losePush)) later(() => deliver(...args))
    }
  }

  const withPush = (ask: Ask) => mapCallbacks(ask, push)

  const chaos = withFaults(options.faults, {
    kind: store.kind,
    supports: store.supports,
    acquire: (ask, options) => call(() => store.acquire(withPush(ask), copyOf(options))),
    ...(store.acquireAll && {
      acquireAll: (asks: readonly Ask[], options?: CallOptions) =>
        call(() => (store as Required<LeaseStore>).acquireAll(asks.map(withPush), copyOf(options))),
    }),
    renew: (ask, options) => call(() => store.renew(ask, copyOf(options))),
    release: (ask, options) => call(() => store.release(ask, copyOf(options))),
    sweep: (query, options) => call(() => store.sweep(query, copyOf(options))),
    read: (resources, options) =>
      read(`read ${JSON.stringify(resources)}`, () => store.read(resources, copyOf(options))),
    list: (query, options) => read(`list ${JSON.stringify(query)}`, () => store.list(query, copyOf(options))),
    ...(store.waiting && {
      waiting: (query: WaitingQuery, options?: CallOptions) =>
        read(`waiting ${JSON.stringify(query)}`, () =>
          (store as Required<LeaseStore>).waiting(query, copyOf(options)),
        ),
    }),
    explain: (error) => store.explain?.(error) ?? error,
    watch: (on, query) => call(() => store.watch(push<[StoreEvent]>(on), query)),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  })
  return chaos
}

/** Faults that are set later are checked, too. */
function withFaults(given: Faults | undefined, store: LeaseStore): ChaosStore {
  let faults = checkFaults(given)
  const set = (next: Faults) => {
    faults = checkFaults(next)
  }
  return Object.defineProperty(store, 'faults', { enumerable: true, get: () => faults, set }) as ChaosStore
}

const NO_FAULTS: Complete<Omit<Faults, 'delay'>> = {
  loseRequest: 0,
  loseAnswer: 0,
  failBefore: 0,
  failAfter: 0,
  duplicate: 0,
  losePush: 0,
  staleRead: 0,
}

function checkFaults(faults: Faults = {}): Faults {
  expectOptions(faults, { delay: 1, ...NO_FAULTS }, 'faults.')
  const { delay, ...probabilities } = faults
  for (const [name, value] of Object.entries(definedIn(probabilities)))
    if (!(value >= 0 && value <= 1)) refuse(`faults.${name}`, 'a probability from 0 to 1', value)
  if (
    delay !== undefined &&
    !(Array.isArray(delay) && delay.length === 2 && delay.every((end) => millisOf(end) >= 0))
  )
    refuse('faults.delay', 'the shortest and the longest delay', delay)
  return faults
}

/** A copy, because an answer may get lost here: a store that limits its calls must not tell the caller so. */
function copyOf(call?: CallOptions): CallOptions | undefined {
  if (!call) return undefined
  return {
    timeout: call.timeout,
    ...(call.queued && { queued: call.queued }),
    get signal() {
      return call.signal
    },
  } as CallOptions
}

function mapCallbacks(
  ask: Ask,
  push: <A extends unknown[]>(on: (...args: A) => void) => (...args: A) => void,
): Ask {
  return { ...ask, ...(ask.wake && { wake: push(ask.wake) }), ...(ask.lost && { lost: push(ask.lost) }) }
}
