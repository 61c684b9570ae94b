import { definedIn, expectOptions, type Known } from '../base/arguments.ts'
import { type Duration, expectTtl } from '../base/duration.ts'
import type { LeaseStore, StoreSupport } from '../core/index.ts'
import { askingAgainCases } from './conformance/asking-again.ts'
import type { Case, Hook, StoreUnderTest } from './conformance/case.ts'
import { closingCases } from './conformance/closing.ts'
import { contentionCases } from './conformance/contention.ts'
import { expiryCases } from './conformance/expiry.ts'
import { failureCases } from './conformance/failure.ts'
import { holdingCases } from './conformance/holding.ts'
import { keepingCases } from './conformance/keeping.ts'
import { keptCases } from './conformance/kept.ts'
import { listingCases } from './conformance/listing.ts'
import { managingCases } from './conformance/managing.ts'
import { namingCases } from './conformance/naming.ts'
import { queueCases } from './conformance/queue.ts'
import { sharedQueueCases } from './conformance/shared-queue.ts'
import { sharingCases } from './conformance/sharing.ts'
import { takeoverCases } from './conformance/takeover.ts'
import { togetherCases } from './conformance/together.ts'
import { tokenCases } from './conformance/token.ts'
import { Transcript } from './conformance/transcript.ts'
import { watchCases } from './conformance/watch.ts'
import { STORE_DEFAULTS } from './options.ts'
import { caseTimeoutMs, runnerOf, skipCase, type TestRunner } from './runner.ts'

/** What `create` makes anew for each test. */
export interface StoreHarness {
  readonly store: LeaseStore
  /** Another store on the same data, as a second process would have it. Default: the same store. */
  readonly peer?: LeaseStore | undefined
  readonly dispose?: (() => Promise<void>) | undefined
}

export interface DescribeStoreOptions<H extends StoreHarness> {
  /** Makes a store on data that no other test uses. */
  readonly create: () => Promise<H>
  /** What the store says of itself. Default: everything. */
  readonly supports?: Partial<StoreSupport> | undefined
  /**
   * A TTL that is long for one call and short to wait for, in milliseconds. Cases for which it was too short are
   * repeated with a longer one. Default 400.
   */
  readonly ttl?: Duration | undefined
  /** How many acquisitions the contention test makes. Default 300. */
  readonly contention?: number | undefined
  /** Lets the store's time pass. Default: really waits. */
  readonly pass?: ((harness: H, ms: number) => Promise<void>) | undefined
  /** Sets the store's wall clock forward or back. */
  readonly stepClock?: ((harness: H, ms: number) => void) | undefined
  /**
   * Sets the clock of this process off by `ms` milliseconds, until the returned function is called. For stores whose
   * backend has a clock of its own.
   */
  readonly skewCaller?: ((harness: H, ms: number) => () => void) | undefined
  /** A new store on the data of the harness, as after a restart. */
  readonly reopen?: ((harness: H) => Promise<LeaseStore>) | undefined
  /** Makes the backend fail; the function that it returns mends it. */
  readonly outage?: ((harness: H) => Promise<() => Promise<void>>) | undefined
  /** Interrupts the watch of `store`, so that it may have missed something. */
  readonly interruptWatch?: ((harness: H) => Promise<void>) | undefined
  /** The test runner's functions. Default: the global ones. */
  readonly runner?: TestRunner | undefined
}

const SUPPORTED: StoreSupport = { queue: true, push: true, expiry: true, list: true, share: true }
const KNOWN: Known<DescribeStoreOptions<never>> = {
  ...{ create: 1, supports: 1, ttl: 1, contention: 1, runner: 1 },
  ...{ pass: 1, stepClock: 1, skewCaller: 1, reopen: 1, outage: 1, interruptWatch: 1 },
}

/**
 * The suite that every store must pass, ours or a stranger's. Works with any runner that has `describe` and `it`.
 *
 * @example
 * describeStore('memory', { create: async () => ({ store: memoryStore() }) })
 */
export function describeStore<H extends StoreHarness>(name: string, options: DescribeStoreOptions<H>): void {
  const runner = runnerOf('describeStore', options.runner)
  expectOptions<DescribeStoreOptions<H>>(options, KNOWN)
  const given = options.supports ?? {}
  expectOptions(given, SUPPORTED, 'supports.')
  const supports = { ...SUPPORTED, ...definedIn(given) }
  const { contention = STORE_DEFAULTS.contention } = options
  const ttl = expectTtl(options.ttl ?? STORE_DEFAULTS.ttl)

  runner.describe(`${name}: a lease store`, () => {
    for (const { title, needs = [], run } of CASES) {
      if (needs.some((need) => supports[need as keyof StoreSupport] === false)) continue
      const missing = needs.filter((need) => !(need in supports) && options[need as Hook] === undefined)
      if (missing.length > 0) {
        skipCase(runner, title, missing)
        continue
      }
      const body = async () => {
        const harness = await options.create()
        const transcript = new Transcript()
        let added = 0
        const under: StoreUnderTest = {
          store: transcript.of('store', harness.store),
          peer: transcript.of('peer', harness.peer ?? harness.store),
          hasPeer: harness.peer !== undefined,
          supports,
          ttl,
          contention,
          async pass(ms) {
            const from = performance.now()
            await (options.pass ? options.pass(harness, ms) : sleep(ms))
            added += Math.max(0, ms - (performance.now() - from))
          },
          elapsed: () => performance.now() + added,
          stepClock: (ms) => options.stepClock?.(harness, ms),
          skewCaller: (ms) => options.skewCaller?.(harness, ms) ?? (() => {}),
          reopen: async () => transcript.of('reopened', (await options.reopen?.(harness)) ?? harness.store),
          outage: async () => (options.outage ? options.outage(harness) : async () => {}),
          interruptWatch: async () => options.interruptWatch?.(harness),
        }
        try {
          await run(under)
        } catch (error) {
          throw transcript.failure(error)
        } finally {
          await harness.dispose?.()
        }
      }
      runner.it(title, body, caseTimeoutMs(ttl))
    }
  })
}

const CASES: readonly Case[] = [
  ...holdingCases,
  ...tokenCases,
  ...expiryCases,
  ...takeoverCases,
  ...togetherCases,
  ...sharingCases,
  ...keepingCases,
  ...keptCases,
  ...managingCases,
  ...queueCases,
  ...sharedQueueCases,
  ...askingAgainCases,
  ...contentionCases,
  ...watchCases,
  ...listingCases,
  ...namingCases,
  ...failureCases,
  ...closingCases,
]

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
