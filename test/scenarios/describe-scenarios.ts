import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { OpenedStore } from '../../src/testing/node/index.ts'
import { openStore } from '../processes/open-store.ts'
import { consulLock } from './consul-lock.ts'
import { distributedLock } from './distributed-lock.ts'
import { etcdConcurrency } from './etcd-concurrency.ts'
import { createStage, type Scenario } from './scenario.ts'
import { shedlock } from './shedlock.ts'

const LIBRARIES = Object.entries({
  ShedLock: shedlock,
  DistributedLock: distributedLock,
  etcd: etcdConcurrency,
  Consul: consulLock,
})

/** What the scenarios of a store have in common. */
export interface ScenarioBed {
  /** Opens another store on the same leases, with a connection of its own. */
  open(): Promise<OpenedStore>
  close(): Promise<void>
}

interface Options {
  /** See `Stage`. Default 400. */
  readonly shortMs?: number
}

const TRIES = 3
const LONGER = 6

/** The scenarios of all libraries on a store. */
export function describeScenarios(
  name: string,
  create: () => Promise<ScenarioBed>,
  { shortMs = 400 }: Options = {},
): void {
  describe(name, () => {
    let bed: ScenarioBed
    beforeAll(async () => {
      bed = await create()
    })
    afterAll(() => bed?.close())

    describe.each(LIBRARIES)('as %s tests itself', (_library, scenarios) => {
      for (const scenario of scenarios)
        it(scenario.title, async ({ skip }) => {
          const { needs } = scenario
          if (needs && !(await supports(bed, needs))) skip(`the store has no ${needs}`)
          await play(scenario, bed, shortMs, scenario.isTimed ? TRIES : 1)
        })
    })
  })
}

async function supports({ open }: ScenarioBed, needed: 'queue' | 'push'): Promise<boolean> {
  const { store, close } = await open()
  await close()
  return store.supports[needed]
}

async function play(scenario: Scenario, bed: ScenarioBed, shortMs: number, tries: number): Promise<void> {
  try {
    await using stage = createStage(() => bed.open(), shortMs)
    await scenario.run(stage)
  } catch (error) {
    if (tries === 1) throw error
    await play(scenario, bed, LONGER * shortMs, tries - 1)
  }
}

/** By an address of `test/processes/open-store.ts`. */
export function storeAt(addressIn: (directory: string) => string): () => Promise<ScenarioBed> {
  return async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-scenarios-'))
    return {
      open: () => openStore(addressIn(directory)),
      close: () => rm(directory, { recursive: true }),
    }
  }
}
