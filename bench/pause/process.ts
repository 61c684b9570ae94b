/** The manager that holds the leases, in a process of its own, so that its memory and its time can be measured. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLeases } from '../../src/core/index.ts'
import { openStore } from '../../test/processes/open-store.ts'

/** All leases are held, and have been renewed once. */
export interface Held {
  readonly acquireMs: number
}

export interface Outcome {
  readonly lost: number
  /** Renewals that were answered with an error. */
  readonly failed: number
  /** From the end of the pause until every lease was renewed again; `null`: some were not. */
  readonly lateMs: number | null
  readonly megabytesBefore: number
  readonly megabytes: number
  /** Processor time of one heartbeat interval before the pause, and of the pause and a TTL after it. */
  readonly idleSeconds: number
  readonly seconds: number
}

const TTL_MS = 30_000
/** How many acquisitions are under way. */
const LANES = 200

const [address = '', count = '0'] = process.argv.slice(2)
const { store } = await openStore(address)
let lost = 0
let failed = 0
const unrenewed = new Set<string>()
let lastRenewal = 0
const leases = createLeases(store, {
  ttl: TTL_MS,
  wait: Infinity,
  onEvent(event) {
    if (event.type === 'lost') lost++
    if (event.type === 'error') failed++
    if (event.type === 'renewed' && unrenewed.delete(event.resource)) lastRenewal = performance.now()
  },
})
const names = Array.from({ length: Number(count) }, (_, n) => `held:${n}`)
const started = performance.now()
const rest = names.values()
await Promise.all(
  Array.from({ length: LANES }, async () => {
    for (const name of rest) await leases.acquire(name)
  }),
)
const acquireMs = performance.now() - started
const idle = process.cpuUsage()
await sleep(TTL_MS / 3)
const idleSeconds = secondsSince(idle)
const lostBefore = lost
const megabytesBefore = process.memoryUsage().rss / 1e6
const before = process.cpuUsage()
process.send?.({ acquireMs } satisfies Held)
await once(process, 'message')
for (const name of names) unrenewed.add(name)
const over = performance.now()
await sleep(TTL_MS)
const outcome: Outcome = {
  lost,
  failed,
  lateMs: unrenewed.size > 0 ? null : Math.max(0, lastRenewal - over),
  megabytesBefore,
  megabytes: process.resourceUsage().maxRSS / 1000,
  idleSeconds,
  seconds: secondsSince(before),
}
if (lostBefore > 0) console.error(`${lostBefore} leases were lost before the pause`)
// Ten thousand releases are not what is measured.
process.send?.(outcome, () => process.exit())

function secondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1e6
}
