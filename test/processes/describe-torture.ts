import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Server, type ServerName, startServer } from '../../scripts/services/index.ts'
import { HANG_MS } from '../hang-limit.ts'
import { holdsOf, violations, waitsOf } from './checker.ts'
import { Crew } from './crew.ts'
import { readLog } from './observation.ts'
import { freezeUntilLost, handOver, handOverUntil, killHoldersAndWaiters, stopHolders } from './scenarios.ts'

export interface TortureOptions {
  /** Of the store; the directory is new for each test, the address is that of `server`. */
  readonly url: (place: { readonly directory: string; readonly address: string }) => string
  readonly ttl: number
  /** A server of this kind is started, to be frozen and crashed. */
  readonly server?: ServerName
  /** Also processes that share a resource. */
  readonly shared?: boolean
  /** Set for a server that forgets in a crash what it acknowledged. */
  readonly forgetful?: boolean
}

const WORKERS_PER_RESOURCE = 4
const KILLS_PER_RESOURCE = 15
const SHARED_KILLS_PER_RESOURCE = 6
const STOPS_PER_RESOURCE = 5
const CRASHES = 3

/** Real processes on one store, killed, stopped and cut off while they contend for leases. */
export function describeTorture(name: string, options: TortureOptions): void {
  const { url, ttl, forgetful = false } = options

  describe(`${name}: leases of real processes`, () => {
    let server: Server | undefined
    let directory: string
    let resources: string[]
    let crew: Crew

    beforeAll(async () => {
      if (options.server) server = await startServer(options.server)
    })
    afterAll(() => server?.stop())

    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'holdfast-torture-'))
      // The server keeps what earlier tests did to it.
      resources = ['north', 'south'].map((which) => `${which}-${basename(directory)}`)
    })

    function hire(share?: number): void {
      crew = new Crew({
        url: url({ directory, address: server?.address ?? '' }),
        ttl,
        share,
        logPath: join(directory, 'log'),
        guardedPath: join(directory, 'guarded.db'),
      })
      for (const resource of resources) for (let n = 0; n < WORKERS_PER_RESOURCE; n++) crew.hire(resource)
    }

    afterEach(async () => {
      server?.thaw()
      await crew.killAll()
      await rm(directory, { recursive: true })
    })

    const onEach = <T>(work: (resource: string) => Promise<T>) => Promise.all(resources.map(work))

    async function expectNoViolations(): Promise<void> {
      await crew.finish()
      const log = orderedLog()
      const { killed } = crew
      expect(violations(log, { longestWaitMs: HANG_MS, killed })).toEqual([])
      const longest = Math.max(...waitsOf(log, killed).map((wait) => wait.ms))
      console.log(`${name}: ${holdsOf(log).length} holds, the longest wait ${Math.round(longest)} ms`)
    }

    function orderedLog() {
      return readLog(join(directory, 'log')).sort((a, b) => a.at - b.at)
    }

    it('have one holder at a time while holders and waiters are killed', async () => {
      hire()
      await onEach((resource) => killHoldersAndWaiters(crew, resource, KILLS_PER_RESOURCE))
      await expectNoViolations()
    })

    if (options.shared)
      it('have no more holders than may share while holders and waiters are killed', async () => {
        hire(2)
        await onEach((resource) => killHoldersAndWaiters(crew, resource, SHARED_KILLS_PER_RESOURCE))
        await expectNoViolations()
      })

    it('are lost to a holder that was stopped, and its late write is refused', async () => {
      hire()
      const breaches = await onEach((resource) => stopHolders(crew, resource, STOPS_PER_RESOURCE))
      expect(breaches.flat()).toEqual([])
      await expectNoViolations()
    })

    if (!options.server) return

    it('are held no longer than their TTL while the server is frozen', async () => {
      if (!server) throw new Error('no server')
      hire()
      await onEach((resource) => handOver(crew, resource, 5))
      const { holders, frozenAt } = await freezeUntilLost(crew, resources, server)
      await onEach((resource) => handOver(crew, resource, 10))
      const frozen = holdsOf(orderedLog()).filter(({ resource, token }) =>
        holders.some((holder) => holder.worker.resource === resource && holder.token === token),
      )
      expect(frozen).toHaveLength(resources.length)
      for (const hold of frozen) expect(hold.to).toBeLessThanOrEqual(frozenAt + ttl * 1000)
      await expectNoViolations()
    })

    if (forgetful) return

    it('have one holder at a time though the server crashes', async () => {
      hire()
      for (let n = 0; n < CRASHES; n++) {
        await onEach((resource) => handOver(crew, resource, 5))
        let isBack = false
        const crash = server?.restart().then(() => {
          isBack = true
        })
        await Promise.all([crash, onEach((resource) => handOverUntil(crew, resource, () => isBack))])
      }
      await expectNoViolations()
    })
  })
}
