/** The manager that holds the leases, in a process of its own, so that its memory and its time can be measured. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLeases } from '../../src/core/index.ts'
import { openStore } from '../../test/processes/open-store.ts'

export interface Holding {
  readonly acquireMs: number
  readonly lost: number
  /** Resident at the end of each round. */
  readonly megabytes: readonly number[]
  /** The part of a core that each round took. */
  readonly cpuShares: readonly number[]
}

const TTL_MS = 30_000
/** In a round each lease is renewed about once. */
const ROUND_MS = TTL_MS / 3
const ROUNDS = 5
/** How many acquisitions are under way. */
const LANES = 200

const [address = '', count = '0'] = process.argv.slice(2)
const { store } = await openStore(address)
let lost = 0
const leases = createLeases(store, {
  ttl: TTL_MS,
  wait: Infinity,
  onEvent(event) {
    if (event.type === 'lost') lost++
  },
})
const started = performance.now()
const rest = Array.from({ length: Number(count) }, (_, n) => `held:${n}`).values()
await Promise.all(
  Array.from({ length: LANES }, async () => {
    for (const name of rest) await leases.acquire(name)
  }),
)
const acquireMs = performance.now() - started
// The first renewals come in the rhythm of the acquisitions.
await sleep(ROUND_MS)
const megabytes: number[] = []
const cpuShares: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const [before, since] = [process.cpuUsage(), performance.now()]
  await sleep(ROUND_MS)
  const { user, system } = process.cpuUsage(before)
  cpuShares.push((user + system) / 1000 / (performance.now() - since))
  megabytes.push(process.memoryUsage().rss / 1e6)
}
const holding: Holding = { acquireMs, lost, megabytes, cpuShares }
// Ten thousand releases are not what is measured.
process.send?.(holding, () => process.exit())
