import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { definedIn, expectOptions, type Known } from '../../base/arguments.ts'
import type { StoreSupport } from '../../core/index.ts'
import { check, checkEqual } from '../conformance/check.ts'
import { HANG_MS, TORTURE_DEFAULTS } from '../options.ts'
import { caseTimeoutMs, runnerOf, skipCase } from '../runner.ts'
import { holdsOf, violations, waitsOf } from './checker.ts'
import { Crew } from './crew.ts'
import {
  LIFETIME_OPTIONS,
  type LifetimeOptions,
  lifetimeTtl,
  moduleUrl,
  runLifetime,
} from './describe-lifetime.ts'
import { readLog } from './observation.ts'
import { freezeUntilLost, handOver, handOverUntil, killHoldersAndWaiters, stopHolders } from './scenarios.ts'

export interface TortureOptions extends LifetimeOptions {
  /** What the store says of itself. Default: everything. */
  readonly supports?: Partial<Pick<StoreSupport, 'queue' | 'share'>> | undefined
  /** How many processes contend for each of the two resources. Default 4. */
  readonly workers?: number | undefined
  /** How many holders and waiters are killed. Default 30. */
  readonly kills?: number | undefined
  /** How many holders are stopped until another holds the lease. Default 10. */
  readonly stops?: number | undefined
  /** How many times the server is restarted. Default 3. */
  readonly restarts?: number | undefined
  /**
   * Stops the server, so that connections stay open and nothing is answered. The function that it returns lets the
   * server go on.
   */
  readonly freeze?: (() => () => unknown) | undefined
  /**
   * Crashes the server and starts it again with its data. For a server that forgets in a crash what it acknowledged,
   * leave it out.
   */
  readonly restart?: (() => Promise<void>) | undefined
  /** Gets a line about each case: how many leases were held, and the longest wait. */
  readonly log?: ((line: string) => void) | undefined
}

const SUPPORTED = { queue: true, share: true }
const TORTURE_OPTIONS: Known<TortureOptions> = {
  ...LIFETIME_OPTIONS,
  ...{ supports: 1, workers: 1, kills: 1, stops: 1, restarts: 1, freeze: 1, restart: 1, log: 1 },
}

const RESOURCES = ['north', 'south']

/**
 * Real processes on one store, killed, stopped and cut off while they contend for leases. Each notes when it believed
 * to hold a lease. A referee then looks for two holders at a time, tokens that do not rise, waits without end, and
 * waiters that were passed in the queue. Works with any runner that has `describe` and `it`.
 *
 * @example
 * describeTorture('mine', { module: new URL('./open-store.ts', import.meta.url), address: (directory) => `${directory}/db` })
 */
export function describeTorture(name: string, options: TortureOptions): void {
  expectOptions(options, TORTURE_OPTIONS)
  expectOptions(options.supports ?? {}, SUPPORTED, 'supports.')
  const { freeze, restart, log } = options
  const { workers = TORTURE_DEFAULTS.workers, restarts = TORTURE_DEFAULTS.restarts } = options
  const { kills = TORTURE_DEFAULTS.kills, stops = TORTURE_DEFAULTS.stops } = options
  const runner = runnerOf('describeTorture', options.runner)
  const ttl = lifetimeTtl(options)
  const supports = { ...SUPPORTED, ...definedIn(options.supports ?? {}) }

  runLifetime(name, options)
  runner.describe(`${name}: leases of real processes`, () => {
    test(
      'have one holder at a time, in the order of the queue, while holders and waiters are killed',
      {},
      (bed) => bed.onEach((resource) => killHoldersAndWaiters(bed.crew, resource, kills / RESOURCES.length)),
    )

    if (supports.share)
      test('have no more holders than may share while holders and waiters are killed', { share: 2 }, (bed) =>
        bed.onEach((resource) => killHoldersAndWaiters(bed.crew, resource, kills / 10)),
      )

    test('are lost to a holder that was stopped, and its late write is refused', {}, async (bed) => {
      const breaches = await bed.onEach((resource) =>
        stopHolders(bed.crew, resource, stops / RESOURCES.length),
      )
      checkEqual(breaches.flat(), [], 'late writes that the guarded resource accepted')
    })

    const frozen = 'are held no longer than their TTL while the server is frozen'
    if (freeze)
      test(frozen, { isCutOff: true }, async (bed) => {
        await bed.onEach((resource) => handOver(bed.crew, resource, 5))
        const { holders, frozenAt } = await freezeUntilLost(bed.crew, bed.resources, freeze)
        await bed.onEach((resource) => handOver(bed.crew, resource, 10))
        const holds = holdsOf(bed.log())
        for (const { worker, token } of holders) {
          const hold = holds.find((one) => one.resource === worker.resource && one.token === token)
          const heldMs = ((hold?.to ?? Infinity) - frozenAt) / 1000
          check(
            heldMs <= ttl,
            `${worker.name} holds ${worker.resource} with token ${token} for at most its TTL of ${ttl} ms ` +
              `after the server froze, got ${heldMs} ms`,
          )
        }
      })
    else skipCase(runner, frozen, ['freeze'])

    const crashed = 'have one holder at a time though the server crashes'
    if (restart)
      test(crashed, { isCutOff: true }, async (bed) => {
        for (let n = 0; n < restarts; n++) {
          await bed.onEach((resource) => handOver(bed.crew, resource, 5))
          let isBack = false
          const crash = restart().then(() => {
            isBack = true
          })
          await Promise.all([
            crash,
            bed.onEach((resource) => handOverUntil(bed.crew, resource, () => isBack)),
          ])
        }
      })
    else skipCase(runner, crashed, ['restart'])
  })

  /** `isCutOff`: the workers lose their connections, and with them their places in the queue. */
  function test(
    title: string,
    { share, isCutOff = false }: { readonly share?: number; readonly isCutOff?: boolean },
    torture: (bed: Bed) => Promise<unknown>,
  ): void {
    runner.it(
      title,
      async () => {
        const directory = await mkdtemp(join(tmpdir(), 'holdfast-torture-'))
        const logPath = join(directory, 'log')
        const crew = new Crew({
          module: moduleUrl(options),
          address: options.address(directory),
          ttl,
          share,
          logPath,
          guardedPath: join(directory, 'guarded.db'),
        })
        // The server keeps what earlier tests did to it.
        const resources = RESOURCES.map((which) => `${which}-${basename(directory)}`)
        const bed: Bed = {
          crew,
          resources,
          log: () => readLog(logPath),
          onEach: (work) => Promise.all(resources.map(work)),
        }
        try {
          for (const resource of resources) for (let n = 0; n < workers; n++) crew.hire(resource)
          await crew.complete()
          await torture(bed)
          await crew.finish()
          const { killed } = crew
          // A late grant is given back unseen, and a waiter that is late by a second loses its place.
          const queueWithinMs = supports.queue && !share && !isCutOff ? Math.min(1000, ttl) * 0.9 : undefined
          const longestWaitMs = HANG_MS + 20 * ttl
          checkEqual(violations(bed.log(), { longestWaitMs, killed, queueWithinMs }), [], 'violations')
          const longest = Math.max(...waitsOf(bed.log(), killed).map((wait) => wait.ms))
          log?.(`${name}: ${holdsOf(bed.log()).length} holds, the longest wait ${Math.round(longest)} ms`)
        } finally {
          await crew.killAll()
          await rm(directory, { recursive: true })
        }
      },
      caseTimeoutMs(ttl),
    )
  }
}

/** What a case has to work with. */
interface Bed {
  readonly crew: Crew
  readonly resources: readonly string[]
  log(): ReturnType<typeof readLog>
  onEach<T>(work: (resource: string) => Promise<T>): Promise<T[]>
}
