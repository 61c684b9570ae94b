/**
 * What other lock libraries test of themselves, told with our API: one file for each library, run on every store. What a
 * library promises and we do not is named at the top of its file.
 */
import { randomId } from '../../src/base/random-id.ts'
import { createLeases, type LeaseStore, type Leases, type LeasesOptions } from '../../src/core/index.ts'
import type { OpenedStore } from '../../src/testing/node/index.ts'

export interface Scenario {
  readonly title: string
  /** What the store must have. */
  readonly needs?: 'queue' | 'push'
  /** A busy machine may be too slow for its short times. Then it is repeated with longer ones. */
  readonly isTimed?: boolean
  run(stage: Stage): Promise<void>
}

/** Of leases that nobody waits for. */
const LONG_MS = 600_000

/** A resource that no other test uses, and clients with stores of their own. */
export interface Stage extends AsyncDisposable {
  readonly resource: string
  /** A TTL that is long for one call and short to wait for. */
  readonly shortMs: number
  /** Unless the options say otherwise, its leases live long and are not renewed, and it waits without a limit. */
  client(options?: LeasesOptions, store?: LeaseStore): Promise<Leases>
  store(): Promise<LeaseStore>
}

export function createStage(open: () => Promise<OpenedStore>, shortMs: number): Stage {
  const stack = new AsyncDisposableStack()
  const store = async () => {
    const opened = await open()
    stack.defer(() => opened.close())
    return opened.store
  }
  const defaults = { ttl: LONG_MS, heartbeat: false, wait: Infinity } as const
  return {
    resource: `scenario:${randomId()}`,
    shortMs,
    store,
    client: async (options = {}, given) =>
      stack.use(createLeases(given ?? (await store()), { ...defaults, ...options })),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
