import type { Clock } from '../../base/clock.ts'
import { createWire, type Wire, type WireOptions } from './wire.ts'

export type ContextKind = 'page' | 'worker' | 'content'

/** The browser's side of a context: its wires, and whether it is alive. */
export interface Connection {
  readonly kind: ContextKind
  readonly origin: string
  readonly tabId: number | undefined
  readonly requests: Wire
  readonly answers: Wire
  readonly events: Wire
  readonly messages: Wire
  readonly clock: Clock
  readonly alive: boolean
  /** Calls back when the context is dead and everything that it had sent has arrived. */
  onDeath(run: () => void): void
  kill(): void
  /** Sends work to the browser and the result back. A dead context gets no result. */
  call<T>(work: () => T | Promise<T>): Promise<T>
}

export interface ConnectOptions extends WireOptions, Pick<Connection, 'kind' | 'origin' | 'tabId'> {
  readonly messageLatency: WireOptions['latency']
}

export function connect(options: ConnectOptions): Connection {
  const { kind, origin, tabId, clock, messageLatency } = options
  let alive = true
  const deathListeners: (() => void)[] = []
  const requests = createWire(options)
  const answers = createWire(options)
  return {
    kind,
    origin,
    tabId,
    requests,
    answers,
    events: createWire(options),
    messages: createWire({ ...options, latency: messageLatency }),
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      random: () => clock.random(),
      // The timers of a dead context do not fire.
      setTimer: (run, ms) => clock.setTimer(() => alive && run(), ms),
    },
    get alive() {
      return alive
    },
    onDeath: (run) => deathListeners.push(run),
    kill() {
      if (!alive) return
      alive = false
      requests(() => {
        for (const listener of deathListeners) listener()
      })
    },
    call: (work) =>
      new Promise((resolve, reject) => {
        requests(async () => {
          const [settle, value] = await Promise.resolve()
            .then(work)
            .then(
              (result) => [resolve, result] as const,
              (error) => [reject, error] as const,
            )
          answers(() => alive && settle(value as never))
        })
      }),
  }
}
