import {
  type Checks,
  checkEach,
  expectFunction,
  expectOneOf,
  expectWhole,
  refuse,
} from '../../base/arguments.ts'
import { type Clock, expectClock } from '../../base/clock.ts'
import { type Duration, expectDuration } from '../../base/duration.ts'
import type { ChromeApi, ChromeChange, RequestsLocks } from '../../sync/index.ts'
import { LOCAL_QUOTA_BYTES, SESSION_QUOTA_BYTES } from '../options.ts'
import { createApi, EXTENSION_ORIGIN, type OpenContext } from './api.ts'
import { type Connection, type ContextKind, connect } from './context.ts'
import { createLocks, type FakeLocks } from './locks.ts'
import { deliver } from './messages.ts'
import { createStorageArea, localQuota, type StorageAreaOptions, syncQuota } from './storage.ts'

export interface FakeBrowserOptions {
  /** The time of the browser, usually a `FakeClock`. */
  readonly clock: Clock
  /** From 0 up to, not including, 1. With a seeded one every run is the same. Default: the clock's. */
  readonly random?: (() => number) | undefined
  /** How long every call from a context to the browser, and every answer, takes. Default `[1, 3]`. */
  readonly latency?: readonly [min: Duration, max: Duration] | undefined
  /** How long a message takes to a receiver. Default: `latency`. */
  readonly messageLatency?: readonly [min: Duration, max: Duration] | undefined
  /** `firefox` also reports keys that were set to the value they had. Default `chrome`. */
  readonly flavour?: 'chrome' | 'firefox' | undefined
  /** The size of `storage.local`. Default 10 MiB. */
  readonly quotaBytes?: number | undefined
  /** How many times a message arrives at each receiver. Default: once. */
  readonly deliveries?: (() => number) | undefined
}

/** A page, worker or content script of the extension. */
export interface FakeContext {
  readonly kind: 'page' | 'worker' | 'content'
  readonly href: string
  readonly api: ChromeApi
  /** `navigator.locks`: of the extension, or in a content script of the host page. */
  readonly locks: RequestsLocks
  /** The timers of a killed context do not fire. */
  readonly clock: Clock
  readonly alive: boolean
  /** Ends the context at once. What it had sent still arrives; then its locks are free. */
  kill(): void
}

export interface FakeBrowser {
  openPage(): FakeContext
  /** A content script in a tab of its own. */
  openTab(): FakeContext
  /** Runs the script now. While the worker is dead, an event that it had listeners for runs the script again. */
  registerWorker(script: (worker: FakeContext) => void): void
  /** `undefined` while the worker is dead. */
  readonly worker: FakeContext | undefined
  /** Everything that is stored now. */
  items(area?: FakeAreaName): Record<string, unknown>
  /** Called at every change, before any context is notified. */
  onWrite(listener: () => void): void
}

export type FakeAreaName = 'local' | 'session' | 'sync'

const HOST_ORIGIN = 'https://host.example'

/**
 * A browser with one extension and any number of contexts, on a clock that the test controls. Everything between
 * contexts takes time. Calls of one context keep their order; calls of different contexts may overtake each other.
 *
 * @example
 * const clock = new FakeClock()
 * const browser = fakeBrowser({ clock })
 * const sync = createSync({ storage: chromeStorage('local', browser.openPage().api) })
 */
export function fakeBrowser(options: FakeBrowserOptions): FakeBrowser {
  const { clock, random, latency, messageLatency, flavour, quotaBytes, deliveries } = checkOptions(options)
  const contexts = new Set<OpenContext>()
  const writeListeners = new Set<() => void>()
  const locksByOrigin = new Map<string, FakeLocks>()
  let tabs = 0
  let runWorker = () => {}
  let worker: FakeContext | undefined
  /** The events that start the worker: those that it had listeners for when it last ran. */
  let wokenBy = { messages: false, changes: false }

  const area = (name: FakeAreaName, check: StorageAreaOptions['check']) =>
    createStorageArea({
      check,
      openToContentScripts: name !== 'session',
      reportsUnchanged: flavour === 'firefox',
      changed: (changes) => emitChanges(name, changes),
    })
  const areas = {
    local: area('local', localQuota(quotaBytes)),
    session: area('session', localQuota(SESSION_QUOTA_BYTES)),
    sync: area(
      'sync',
      syncQuota(() => clock.now()),
    ),
  }

  return {
    openPage: () => open('page', EXTENSION_ORIGIN)[0],
    openTab: () => open('content', HOST_ORIGIN, ++tabs)[0],
    registerWorker(script) {
      runWorker = () => {
        const [context, self] = open('worker', EXTENSION_ORIGIN)
        worker = context
        script(context)
        wokenBy = { messages: self.messages.size > 0, changes: self.changes.size > 0 }
      }
      wake()
    },
    get worker() {
      return worker?.alive ? worker : undefined
    },
    items: (name = 'local') => areas[name].items(),
    onWrite: (listener) => writeListeners.add(listener),
  }

  function open(kind: ContextKind, origin: string, tabId?: number): readonly [FakeContext, OpenContext] {
    const connection = connect({ kind, origin, tabId, clock, random, latency, messageLatency })
    const self: OpenContext = { connection, messages: new Set(), changes: new Set() }
    contexts.add(self)
    const locks = locksByOrigin.get(origin) ?? createLocks()
    locksByOrigin.set(origin, locks)
    const context: FakeContext = {
      kind,
      href: `${origin}/${kind}`,
      api: createApi(self, { areas, tabIds, send }),
      locks: locks.from(connection),
      clock: connection.clock,
      get alive() {
        return connection.alive
      },
      kill() {
        contexts.delete(self)
        connection.kill()
      },
    }
    return [context, self]
  }

  function wake(): void {
    if (!worker?.alive) runWorker()
  }

  function emitChanges(name: FakeAreaName, changes: Readonly<Record<string, ChromeChange>>): void {
    for (const listener of writeListeners) listener()
    if (wokenBy.changes) wake()
    for (const { connection, changes: listeners } of contexts)
      connection.events(() => {
        if (connection.alive) for (const listener of listeners) listener(structuredClone(changes), name)
      })
  }

  function send(sender: OpenContext, message: unknown, isReceiver: (other: Connection) => boolean) {
    return sender.connection.call(() => {
      if (wokenBy.messages) wake()
      const receivers = [...contexts].filter(
        (other) => other !== sender && isReceiver(other.connection) && other.messages.size > 0,
      )
      return deliver(sender.connection, receivers, message, deliveries)
    })
  }

  function tabIds(): readonly number[] {
    return [...contexts].flatMap(({ connection }) => connection.tabId ?? [])
  }
}

const CHECKS: Checks<FakeBrowserOptions> = {
  clock: expectClock,
  random: expectFunction,
  latency: checkLatency,
  messageLatency: checkLatency,
  flavour: (option, value) => expectOneOf(option, value, ['chrome', 'firefox']),
  quotaBytes: (option, value) => expectWhole(option, value, 0),
  deliveries: expectFunction,
}

interface Checked extends Omit<FakeBrowserOptions, 'latency' | 'messageLatency'> {
  readonly latency?: readonly [min: number, max: number]
  readonly messageLatency?: readonly [min: number, max: number]
}

function checkOptions(options: FakeBrowserOptions) {
  const checked = checkEach(options, CHECKS) as Checked
  const { clock } = checked
  CHECKS.clock('clock', clock)
  const { random = () => clock.random(), latency = [1, 3] as const, messageLatency = latency } = checked
  const { flavour = 'chrome', quotaBytes = LOCAL_QUOTA_BYTES, deliveries = () => 1 } = checked
  return { clock, random, latency, messageLatency, flavour, quotaBytes, deliveries }
}

/** In milliseconds. */
function checkLatency(option: string, latency: unknown): readonly [number, number] {
  if (!Array.isArray(latency)) refuse(option, '[min, max]', latency)
  const min = expectDuration(`${option}[0]`, latency[0], 0)
  return [min, expectDuration(`${option}[1]`, latency[1], min)]
}
