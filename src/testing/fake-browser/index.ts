import type { Clock } from '../../core/index.ts'
import type { ChromeApi, ChromeChange } from '../../sync/index.ts'
import { createApi, EXTENSION_ORIGIN, type Inhabitant } from './api.ts'
import { type Connection, type ContextKind, connect } from './context.ts'
import { createLocks, type FakeLocks } from './locks.ts'
import { type Deliveries, deliver } from './messages.ts'
import { createStorageArea, localQuota, type StorageAreaOptions, syncQuota } from './storage.ts'

export interface FakeBrowserOptions {
  /** Time passes when it does: a `FakeClock`. */
  readonly clock: Clock
  /** From 0 up to 1; a seeded one makes every run the same. Default: the clock's. */
  readonly random?: () => number
  /** Milliseconds of every way between a context and the browser. Default 1 to 3. */
  readonly latency?: readonly [min: number, max: number]
  /** Of messages on their way to a receiver. Default: the same. */
  readonly messageLatency?: readonly [min: number, max: number]
  /** Firefox tells of keys that were set to what they were. Default `chrome`. */
  readonly flavour?: 'chrome' | 'firefox'
  /** Of `storage.local`. Default 10 MiB. */
  readonly quotaBytes?: number
  /** How many times a message arrives at each receiver. Default: once. */
  readonly deliveries?: Deliveries
}

/** A page, worker or content script of the extension. */
export interface FakeContext {
  readonly kind: ContextKind
  readonly href: string
  readonly api: ChromeApi
  /** `navigator.locks`: the extension's, or in a content script the host page's. */
  readonly locks: Pick<LockManager, 'request'>
  /** Its timers die with it. */
  readonly clock: Clock
  readonly alive: boolean
  /** In the midst of whatever it does. What it had sent still arrives; then its locks are free. */
  kill(): void
}

export interface FakeBrowser {
  openPage(): FakeContext
  /** A content script in a tab of its own. */
  openTab(): FakeContext
  /** Runs it now, and again whenever something comes that it listened for while it is dead. */
  registerWorker(script: (worker: FakeContext) => void): void
  /** `undefined` while it is dead. */
  readonly worker: FakeContext | undefined
  /** All that is stored in this moment. */
  items(area?: FakeAreaName): Record<string, unknown>
  /** Called in the moment of every change, before anybody hears of it. */
  onWrite(look: () => void): void
}

export type FakeAreaName = 'local' | 'session' | 'sync'

const HOST_ORIGIN = 'https://host.example'

/**
 * A browser with one extension and any number of its contexts, on a clock that the test owns. Whatever passes
 * between contexts takes time: in one order on each way, in any order between ways.
 *
 * @example
 * const clock = new FakeClock()
 * const browser = fakeBrowser({ clock })
 * const sync = createSync({ storage: chromeStorage('local', browser.openPage().api) })
 */
export function fakeBrowser(options: FakeBrowserOptions): FakeBrowser {
  const { clock, random = () => clock.random(), latency = [1, 3], deliveries = () => 1 } = options
  const { messageLatency = latency, quotaBytes = 10 * 1024 * 1024 } = options
  const inhabitants = new Set<Inhabitant>()
  const lookers = new Set<() => void>()
  const managers = new Map<string, FakeLocks>()
  let tabs = 0
  let runWorker = () => {}
  let worker: FakeContext | undefined
  /** What wakes the worker: what it listened for when it last ran. */
  let wokenBy = { messages: false, changes: false }

  const area = (name: FakeAreaName, check: StorageAreaOptions['check']) =>
    createStorageArea({
      check,
      openToContentScripts: name !== 'session',
      tellsUnchanged: options.flavour === 'firefox',
      changed: (changes) => tell(name, changes),
    })
  const areas = {
    local: area('local', localQuota(quotaBytes)),
    session: area('session', localQuota(10 * 1024 * 1024)),
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
    onWrite: (look) => lookers.add(look),
  }

  function open(kind: ContextKind, origin: string, tabId?: number): readonly [FakeContext, Inhabitant] {
    const connection = connect({ kind, origin, tabId, clock, random, latency, messageLatency })
    const self: Inhabitant = { connection, messages: new Set(), changes: new Set() }
    inhabitants.add(self)
    const locks = managers.get(origin) ?? createLocks()
    managers.set(origin, locks)
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
        inhabitants.delete(self)
        connection.kill()
      },
    }
    return [context, self]
  }

  function wake(): void {
    if (!worker?.alive) runWorker()
  }

  function tell(name: FakeAreaName, changes: Readonly<Record<string, ChromeChange>>): void {
    for (const look of lookers) look()
    if (wokenBy.changes) wake()
    for (const { connection, changes: listeners } of inhabitants)
      connection.events(() => {
        if (connection.alive) for (const listener of listeners) listener(structuredClone(changes), name)
      })
  }

  function send(sender: Inhabitant, message: unknown, isReceiver: (other: Connection) => boolean) {
    return sender.connection.call(() => {
      if (wokenBy.messages) wake()
      const receivers = [...inhabitants].filter(
        (other) => other !== sender && isReceiver(other.connection) && other.messages.size > 0,
      )
      return deliver(sender.connection, receivers, message, deliveries)
    })
  }

  function tabIds(): readonly number[] {
    return [...inhabitants].flatMap(({ connection }) => connection.tabId ?? [])
  }
}
