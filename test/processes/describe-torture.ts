import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdsOf, violations, waitsOf } from './checker.ts'
import { Crew, PATIENCE_MS } from './crew.ts'
import { readLog } from './observation.ts'
import { handOver, handOverDuring, killHoldersAndWaiters, stopHolders } from './scenarios.ts'

export interface TortureOptions {
  /** The store on fresh data; the directory is gone after the test. */
  readonly url: (directory: string) => string
  readonly ttl: number
  /** Crashes the server and starts it again, with what it had acknowledged. */
  readonly restart?: () => Promise<void>
}

const RESOURCES = ['north', 'south']
const WORKERS_PER_RESOURCE = 4
const KILLS_PER_RESOURCE = 15
const STOPS_PER_RESOURCE = 5
const LIMIT = { timeout: 120_000 }

/** Real processes on one store, killed, stopped and cut off while they contend for leases. */
export function describeTorture(name: string, { url, ttl, restart }: TortureOptions): void {
  describe(`${name}: leases of processes that die`, () => {
    let directory: string
    let crew: Crew
    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'holdfast-torture-'))
      crew = new Crew({
        url: url(directory),
        ttl,
        logPath: join(directory, 'log'),
        guardedPath: join(directory, 'guarded.db'),
      })
      for (const resource of RESOURCES) for (let n = 0; n < WORKERS_PER_RESOURCE; n++) crew.hire(resource)
    })
    afterEach(async () => {
      await crew.killAll()
      await rm(directory, { recursive: true })
    })

    const onEach = <T>(work: (resource: string) => Promise<T>) => Promise.all(RESOURCES.map(work))

    async function expectOneHolderAtATime(): Promise<void> {
      await crew.finish()
      const log = readLog(join(directory, 'log')).sort((a, b) => a.at - b.at)
      const { killed } = crew
      expect(violations(log, { longestWaitMs: PATIENCE_MS, killed })).toEqual([])
      const longest = Math.max(...waitsOf(log, killed).map((wait) => wait.ms))
      console.log(`${name}: ${holdsOf(log).length} holds, the longest wait ${Math.round(longest)} ms`)
    }

    it(`have one holder at a time while holders and waiters are killed`, LIMIT, async () => {
      await onEach((resource) => killHoldersAndWaiters(crew, resource, KILLS_PER_RESOURCE))
      await expectOneHolderAtATime()
    })

    it('are lost to a holder that was stopped, and its late write is refused', LIMIT, async () => {
      const breaches = await onEach((resource) => stopHolders(crew, resource, STOPS_PER_RESOURCE))
      expect(breaches.flat()).toEqual([])
      await expectOneHolderAtATime()
    })

    if (!restart) return
    it('have one holder at a time through a crash of the server', LIMIT, async () => {
      await onEach((resource) => handOver(crew, resource, 10))
      const crash = restart()
      await onEach((resource) => handOverDuring(crew, resource, crash))
      await expectOneHolderAtATime()
    })
  })
}
