/**
 * Runs tests in the form of the web platform tests: scripts that call `promise_test` and use `navigator.locks`. Those in
 * `cases` are our own. They have the file names and titles of the web-locks tests of
 * https://github.com/web-platform-tests/wpt that need no browser. `npm run wpt` runs the originals.
 */
import type { LockManager } from '../../src/locks/index.ts'

/** What the scripts are run with. */
export interface Realm {
  readonly locks: LockManager
  /** Another client of the same locks, as a frame or a worker is. Absent: tests with several clients are skipped. */
  newClient?(): Promise<LockManager>
}

export interface WebPlatformCase {
  readonly title: string
  /** Resolves with whether it ran: `false` if it needs another client and there is none. */
  run(): Promise<boolean>
}

/** The tests that a script declares. */
export function casesOf(source: string, realm: Realm): WebPlatformCase[] {
  const cases: WebPlatformCase[] = []
  const promise_test = (body: (t: TestCase) => Promise<void>, title: string) => {
    cases.push({ title, run: () => runCase(body, title) })
  }
  const scope: Record<string, unknown> = {
    ...assertions,
    ...helpers(realm),
    promise_test,
    test: promise_test,
    setup: () => {},
    navigator: { locks: realm.locks },
    // The scripts' own global object.
    self: { ...helpers(realm), addEventListener() {} },
  }
  new Function(...Object.keys(scope), source)(...Object.values(scope))
  return cases
}

class NeedsClient extends Error {}

async function runCase(body: (t: TestCase) => Promise<void>, title: string): Promise<boolean> {
  const t = new TestCase(title)
  try {
    await body(t)
    return true
  } catch (error) {
    if (error instanceof NeedsClient) return false
    throw error
  } finally {
    for (const cleanup of t.cleanups) await cleanup()
  }
}

class TestCase {
  readonly name: string
  readonly cleanups: (() => unknown)[] = []

  constructor(name: string) {
    this.name = name
  }

  add_cleanup(cleanup: () => unknown): void {
    this.cleanups.push(cleanup)
  }

  step_timeout(run: () => void, ms: number): void {
    setTimeout(run, ms)
  }

  unreached_func(why: string): () => never {
    return () => fail(`must not be called: ${why}`)
  }
}

function fail(message: string): never {
  throw new Error(message)
}

function shown(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return value instanceof Error ? String(value) : JSON.stringify(value)
}

function expectSame(actual: unknown, expected: unknown, why = ''): void {
  if (!Object.is(actual, expected)) fail(`expected ${shown(expected)}, got ${shown(actual)} ${why}`)
}

/** In an object, because the error may be a thenable. */
async function rejectionOf(promise: Promise<unknown>, why = ''): Promise<{ readonly error: unknown }> {
  const outcome = await promise.then(
    () => undefined,
    (error) => ({ error }),
  )
  return outcome ?? fail(`expected a rejection ${why}`)
}

const assertions = {
  assert_equals: expectSame,
  assert_true: (actual: unknown, why?: string) => expectSame(actual, true, why),
  assert_false: (actual: unknown, why?: string) => expectSame(actual, false, why),
  assert_implements: (actual: unknown, why?: string) => expectSame(!!actual, true, why),
  assert_unreached: (why: string) => fail(`must not be reached: ${why}`),
  assert_not_equals(actual: unknown, other: unknown, why = '') {
    if (Object.is(actual, other)) fail(`expected anything but ${shown(other)} ${why}`)
  },
  assert_array_equals(actual: readonly unknown[], expected: readonly unknown[], why = '') {
    const isSame =
      actual.length === expected.length && actual.every((item, n) => Object.is(item, expected[n]))
    if (!isSame) fail(`expected [${expected.map(shown)}], got [${actual.map(shown)}] ${why}`)
  },
  assert_own_property(object: object, name: string, why = '') {
    if (!Object.hasOwn(object, name)) fail(`expected the property ${name} ${why}`)
  },
  assert_throws_js(kind: ErrorConstructor, run: () => unknown) {
    try {
      run()
    } catch (error) {
      return expectSame((error as Error).name, kind.name)
    }
    fail(`expected a ${kind.name}`)
  },
  async promise_rejects_js(_: TestCase, kind: ErrorConstructor, promise: Promise<unknown>, why?: string) {
    const { error } = await rejectionOf(promise, why)
    if (!(error instanceof kind)) fail(`expected a ${kind.name}, got ${shown(error)}`)
  },
  async promise_rejects_dom(_: TestCase, name: string, promise: Promise<unknown>, why?: string) {
    const { error } = await rejectionOf(promise, why)
    if (!(error instanceof DOMException)) fail(`expected a DOMException, got ${shown(error)}`)
    expectSame(error.name, name, why)
  },
  async promise_rejects_exactly(_: TestCase, expected: unknown, promise: Promise<unknown>, why?: string) {
    expectSame((await rejectionOf(promise, why)).error, expected, why)
  },
}

interface ClientMessage {
  readonly op: 'request' | 'release' | 'client_id'
  readonly name: string
  readonly mode?: 'exclusive' | 'shared'
  readonly ifAvailable?: boolean
  readonly lock_id?: number
}

/** A frame or a worker that requests locks when it is told to. */
class Client {
  readonly #locks: Promise<LockManager>
  readonly #releases: (() => void)[] = []

  constructor({ newClient }: Realm) {
    if (!newClient) throw new NeedsClient()
    this.#locks = newClient()
  }

  async tell({ op, name, mode = 'exclusive', ifAvailable = false, lock_id = 0 }: ClientMessage) {
    const locks = await this.#locks
    if (op === 'release') return { lock_id: this.#releases[lock_id]?.() ?? lock_id }
    if (op === 'client_id') return { client_id: await clientIdOf(locks, name) }
    return new Promise((resolve, reject) => {
      const hold = (lock: unknown) => {
        if (!lock) return resolve({ failed: true })
        const released = new Promise<void>((release) => this.#releases.push(release))
        resolve({ lock_id: this.#releases.length - 1 })
        return released
      }
      locks.request(name, { mode, ifAvailable }, hold).catch(reject)
    })
  }

  remove(): void {
    this.terminate()
  }

  terminate(): void {
    for (const release of this.#releases) release()
  }
}

function clientIdOf(locks: LockManager, name: string): Promise<string | undefined> {
  const own = `${name}-client-id-${Math.random()}`
  return locks.request(own, async () => {
    const { held = [] } = await locks.query()
    return held.find((lock) => lock.name === own)?.clientId
  })
}

let names = 0

function helpers(realm: Realm) {
  const makePromiseAndResolveFunc = () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    return [promise, resolve] as const
  }
  return {
    makePromiseAndResolveFunc,
    uniqueName: (t: TestCase, prefix = '') => `${t.name}-${prefix}-${++names}-${Math.random()}`,
    requestLockAndHold(t: TestCase, name: string, options = {}) {
      const [promise, resolve] = makePromiseAndResolveFunc()
      const released = realm.locks.request(name, options, () => promise)
      t.add_cleanup(() => {
        resolve(undefined)
        return released.catch(() => {})
      })
      return released
    },
    iframe: async () => new Client(realm),
    Worker: class extends Client {
      constructor() {
        super(realm)
      }
    },
    postToFrameAndWait: (frame: Client, message: ClientMessage) => frame.tell(message),
    postToWorkerAndWait: (worker: Client, message: ClientMessage) => worker.tell(message),
  }
}
