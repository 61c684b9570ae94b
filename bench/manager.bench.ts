/** What the manager itself costs: a store that grants everything at once, with and without a limit of its own. */
import { createLeases, type HoldingStore, type LeaseRecord } from '../src/core/index.ts'
import { memoryStore } from '../src/stores/memory.ts'
import { printTable, quantile, spreadOf } from './measure.ts'

const ROUNDS = 15
const OPERATIONS = 20_000

export async function run(): Promise<void> {
  const contenders = Object.entries({
    'null store that limits its calls': nullStore(true),
    'null store': nullStore(false),
    'memory store': memoryStore(),
  }).map(([name, store]) => {
    const leases = createLeases(store)
    return { name, leases, micros: [] as number[] }
  })
  for (let round = -1; round < ROUNDS; round++)
    for (const { leases, micros } of contenders) {
      // Processor time: a manager that never waits needs as much on a busy machine.
      const before = process.cpuUsage()
      for (let n = 0; n < OPERATIONS; n++) await (await leases.acquire('resource')).release()
      const { user, system } = process.cpuUsage(before)
      // The first round warms up.
      if (round >= 0) micros.push((user + system) / OPERATIONS)
    }
  printTable('The manager: processor time of acquire + release', [
    ['', 'µs', 'spread'],
    ...contenders.map(({ name, micros }) => [name, quantile(micros, 0.5).toFixed(2), spreadOf(micros)]),
  ])
}

function nullStore(isLimited: boolean): HoldingStore {
  let token = 0
  const recordOf = (resource: string, id: string, state: LeaseRecord['state']): LeaseRecord => {
    const now = Date.now()
    return {
      resource,
      id,
      owner: 'bench',
      token: ++token,
      metadata: null,
      share: null,
      acquiredAt: now,
      expiresAt: now + 30_000,
      remaining: 30_000,
      state,
    }
  }
  return {
    kind: 'null',
    supports: { queue: true, push: true, expiry: true, list: false, share: false },
    acquire({ resource, id }, call) {
      if (call) call.limited = isLimited
      return Promise.resolve({ granted: true, lease: recordOf(resource, id, 'held') })
    },
    renew: ({ resource, id }) => Promise.resolve({ ok: true, lease: recordOf(resource, id, 'held') }),
    release({ resource }, call) {
      if (call) call.limited = isLimited
      return Promise.resolve({ ended: recordOf(resource, '', 'released'), holders: [] })
    },
    close: async () => {},
  }
}
