import { createLeases, type LeaseEvent, type LeaseStore, type LeasesOptions } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { chaosStore, FakeClock } from '../../src/testing/index.ts'

export interface SetUp {
  readonly queue?: boolean
  readonly push?: boolean
  /** The store does not tell holders of their loss. */
  readonly quietLoss?: boolean
}

/** A manager behind a network that can be disturbed, on a store that shares its clock. */
export function setUp({ queue = true, push = true, quietLoss = false }: SetUp = {}) {
  const clock = new FakeClock()
  const memory = memoryStore({ clock })
  let asked = 0
  const limited: LeaseStore = {
    ...memory,
    supports: { ...memory.supports, queue, push },
    acquire: ({ lost, wake, ...ask }) => {
      asked++
      return memory.acquire({ ...ask, ...(queue && wake && { wake }), ...(!quietLoss && lost && { lost }) })
    },
  }
  const network = chaosStore(limited, { clock })
  const events: LeaseEvent[] = []
  const leases = createLeases(network, { clock, owner: 'me', onEvent: (event) => events.push(event) })
  return {
    clock,
    store: memory,
    network,
    leases,
    events,
    asks: () => asked,
    another: (options: LeasesOptions = {}) => createLeases(memory, { clock, ...options }),
  }
}
