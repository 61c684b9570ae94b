/**
 * A process that takes leases of several resources at once, again and again, until it is told to finish. It notes all
 * the while which of them it believes to hold, and writes to a guarded table with each, also after a loss. What fails
 * because of a fault is tried again.
 */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLeases, type Lease, LeaseError, type LeaseStore } from '../../src/core/index.ts'
import { sqliteGuard } from '../../src/guard/index.ts'
import { appendTo, now } from '../../src/testing/node/observation.ts'
import { openStore } from '../processes/open-store.ts'
import { type Random, seeded } from '../random.ts'

export interface WorkedResource {
  readonly name: string
  /** How many may hold it together. Absent: one. */
  readonly share?: number
  /** Which part of its leases is held for so long that they must be renewed. A fault finds these in use. */
  readonly longHolds: number
}

export interface WorkerOptions {
  readonly name: string
  readonly address: string
  readonly ttl: number
  readonly resources: readonly WorkedResource[]
  readonly seed: number
  readonly logPath: string
  readonly guardPath: string
}

/** What it did since the last message. */
export interface Counts {
  /** Calls to the store that were answered: grants, refusals, renewals, releases. */
  calls: number
  /** Calls that failed or were not answered in time. */
  failedCalls: number
  grants: number
  /** Leases that ended before they were released. */
  losses: number
  writes: number
  /** Writes that the guard refused, because the resource had seen a newer lease. */
  refusedWrites: number
}

export type WorkerMessage =
  | { readonly type: 'granted'; readonly resource: string }
  | { readonly type: 'counts'; readonly counts: Counts }
  /** An error that no fault explains. */
  | { readonly type: 'error'; readonly text: string }

export type WorkerOrder = 'finish'

/** An acquisition may end with these while there is a fault, or because somebody else holds the lease. */
const EXPECTED: readonly string[] = ['lease-held', 'lease-lost', 'store-unavailable', 'aborted']

const NOTE_EVERY_MS = 10
const COUNT_EVERY_MS = 500
const AFTER_FAILURE_MS = 50
const BUSY_GUARD_MS = 60_000
const LONGEST_PAUSE_MS = 30

process.once('disconnect', () => process.exit())
const options: WorkerOptions = JSON.parse(process.argv[2] ?? '')
const { name, ttl, resources } = options
const note = appendTo(options.logPath)
const guarded = new DatabaseSync(options.guardPath, { timeout: BUSY_GUARD_MS })
const guard = sqliteGuard(guarded)
const insert = guarded.prepare('insert into writes (resource, token, writer) values (?, ?, ?)')
const counts: Counts = { calls: 0, failedCalls: 0, grants: 0, losses: 0, writes: 0, refusedWrites: 0 }
const finish = new AbortController()
const { store, close } = await openStore(options.address)
const leases = createLeases(counted(store), { owner: name, ttl })

process.on('message', (order: WorkerOrder) => {
  if (order === 'finish') finish.abort()
})
const counting = setInterval(tellCounts, COUNT_EVERY_MS)
await Promise.all(resources.map((resource, n) => contend(resource, seeded(options.seed + n))))
clearInterval(counting)
await leases.close()
await close()
tellCounts()
guarded.close()
process.disconnect()

async function contend(worked: WorkedResource, random: Random): Promise<void> {
  const { name: resource, share } = worked
  const { signal } = finish
  while (!signal.aborted) {
    const wait = random.chance(0.3) ? random.between(0, ttl) : Infinity
    try {
      note({ at: now(), worker: name, resource })
      await hold(await leases.acquire(resource, { signal, share, wait }), worked, random)
    } catch (error) {
      if (!(error instanceof LeaseError) || !EXPECTED.includes(error.code))
        tell({ type: 'error', text: textOf(error) })
      if (!(error instanceof LeaseError) || error.code !== 'lease-held') await sleep(AFTER_FAILURE_MS)
    }
    await sleep(random.between(0, LONGEST_PAUSE_MS))
  }
}

async function hold(lease: Lease, { share, longHolds }: WorkedResource, random: Random): Promise<void> {
  const { resource, signal } = lease
  const holdMs = random.chance(longHolds) ? random.between(ttl, 3 * ttl) : random.between(0, ttl / 5)
  counts.grants++
  if (noteHeld(lease, share)) tell({ type: 'granted', resource })
  if (!share) write(lease)
  const noting = setInterval(() => noteHeld(lease, share), NOTE_EVERY_MS)
  await sleep(holdMs, undefined, { signal: AbortSignal.any([signal, finish.signal]) }).catch(() => {})
  clearInterval(noting)
  noteHeld(lease, share)
  if (signal.aborted) counts.losses++
  // A late write, if the lease was lost: somebody who was stopped does not know it either.
  if (!share) write(lease)
  await lease.release().catch((error) => {
    if (!(error instanceof LeaseError) || !EXPECTED.includes(error.code)) throw error
  })
}

/** The time is taken before the look: at that moment the lease was held, however long the look takes. */
function noteHeld(lease: Lease, share: number | undefined): boolean {
  const at = now()
  const { held, token, resource } = lease
  if (held) note({ at, worker: name, resource, token, share })
  return held
}

function write(lease: Lease): void {
  const { resource, token } = lease
  counts.writes++
  try {
    guard.write(lease, () => insert.run(resource, token, name))
  } catch (error) {
    if (!(error instanceof LeaseError) || error.code !== 'stale-token') throw error
    counts.refusedWrites++
  }
}

function counted(calls: LeaseStore): LeaseStore {
  for (const method of ['acquire', 'renew', 'release'] as const) {
    const call = calls[method].bind(calls) as (...args: unknown[]) => Promise<unknown>
    const count = async (...args: unknown[]) => {
      try {
        const answer = await call(...args)
        counts.calls++
        return answer
      } catch (error) {
        counts.failedCalls++
        throw error
      }
    }
    Object.assign(calls, { [method]: count })
  }
  return calls
}

function tellCounts(): void {
  tell({ type: 'counts', counts })
}

function tell(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}

function textOf(error: unknown): string {
  return error instanceof LeaseError
    ? `${error.code}: ${error.message}`
    : String((error as Error)?.stack ?? error)
}
