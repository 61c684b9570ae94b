/** Runs in a page of Chromium: an idle Web Lock, bare and through Holdfast. */
import { createLeases } from '../../src/core/index.ts'
import { createProjectLocks } from '../../src/project/index.ts'
import { webStore } from '../../src/stores/web/index.ts'
import { type Contender, quantile } from '../measure.ts'

const TURNS = 150
/** Taken together, since a page's clock has steps of 100 µs. */
const OPERATIONS = 10

export const scenarios = {
  /** The median time of an operation, in microseconds. */
  async medians() {
    const project = createProjectLocks({ namespace: 'bench' })
    const leases = createLeases(webStore({ prefix: 'bench:' }))
    const contenders: Contender[] = [
      { name: 'navigator.locks.request', run: () => navigator.locks.request('bare', () => {}) },
      {
        name: 'acquireProjectLock, releaseProjectLock',
        run: async () => project.releaseProjectLock(await project.acquireProjectLock()),
      },
      { name: 'leases.acquire, lease.release', run: async () => (await leases.acquire('bench')).release() },
    ]
    const times = contenders.map(() => [] as number[])
    // In short turns, so that whatever else the machine does meets all of them alike.
    for (let turn = 0; turn < TURNS; turn++)
      for (const [index, { run }] of contenders.entries()) {
        const start = performance.now()
        for (let count = 0; count < OPERATIONS; count++) await run()
        times[index]?.push((performance.now() - start) / OPERATIONS)
      }
    return contenders.map(({ name }, index) => ({ name, micros: 1000 * quantile(times[index] ?? [], 0.5) }))
  },

  async hold() {
    await createProjectLocks({ namespace: 'tabs' }).acquireProjectLock()
  },

  async standBy() {
    const locks = createProjectLocks({ namespace: 'tabs' })
    acquiredAt = locks.acquireProjectLock({ standby: true }).then(() => Date.now())
    for (let waiting = 0; waiting === 0; ) waiting = (await navigator.locks.query()).pending?.length ?? 0
  },

  async acquired() {
    return acquiredAt
  },
}

let acquiredAt: Promise<number> | undefined

Object.assign(globalThis, { scenarios })
