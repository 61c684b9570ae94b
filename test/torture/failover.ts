/**
 * A failover of a database whose replica lags behind. It forgets a grant that the old primary had confirmed, so that two
 * holders believe in their lease at once: see the store's page. The guard refuses the late write of the first.
 */
import { DatabaseSync } from 'node:sqlite'
import { PostgresPair, SentinelGroup } from '../../scripts/services/index.ts'
import { createLeases, type Lease, LeaseError } from '../../src/core/index.ts'
import { guardTable, sqliteGuard } from '../../src/guard/index.ts'
import { openStore } from '../processes/open-store.ts'
import { FaultyLink } from './faulty-link.ts'

/** A primary with a replica, and clients that find the new primary after a failover. */
export interface Replicated extends AsyncDisposable {
  readonly address: string
  waitForReplica(): Promise<void>
  stopReplication(): Promise<void>
  failOver(): Promise<void>
}

export const REPLICATED: Readonly<Record<string, () => Promise<Replicated>>> = {
  'redis-sentinel': openSentinel,
  'postgres-failover': openPostgresPair,
}

export interface Failover {
  /** The tokens of the grant that was forgotten, and of the next one. */
  readonly tokens: readonly [number, number]
  /** The next grant came although the first lease had neither ended nor expired. */
  readonly isForgotten: boolean
  /** Its holder had not noticed yet: both believed to hold the lease at the same time. */
  readonly isDoubled: boolean
  readonly violations: readonly string[]
  /** From the crash of the primary until the next grant. */
  readonly recoveryMs: number
}

/** Longer than the failover takes, so that the first holder still believes in its lease. */
const TTL_MS = 120_000

export async function forgetGrant(store: Replicated): Promise<Failover> {
  await using stack = new AsyncDisposableStack()
  const open = async (owner: string) => {
    const opened = await openStore(store.address)
    stack.defer(() => opened.close())
    // Without renewals, which would tell the first holder of its loss.
    return stack.use(createLeases(opened.store, { owner, ttl: TTL_MS, heartbeat: false, wait: TTL_MS }))
  }
  const [first, second] = [await open('first'), await open('second')]
  const known = await first.acquire('known')
  await store.waitForReplica()
  await store.stopReplication()
  const forgotten = await first.acquire('forgotten')
  const crashedAt = performance.now()
  await store.failOver()
  const next = await second.acquire('forgotten')
  const recoveryMs = performance.now() - crashedAt
  const isForgotten = recoveryMs < TTL_MS
  const isDoubled = forgotten.held && next.held
  const violations = [
    ...((await second.tryAcquire('known')) ? ['a grant that had reached the replica was forgotten'] : []),
    ...lateWriteOf(forgotten, next),
  ]
  await known.release()
  await next.release()
  return { tokens: [forgotten.token, next.token], isForgotten, isDoubled, violations, recoveryMs }
}

/** The successor has written, and then the first holder, who does not know of its loss. */
function lateWriteOf(forgotten: Lease, next: Lease): string[] {
  const database = new DatabaseSync(':memory:')
  database.exec(guardTable())
  const guard = sqliteGuard(database)
  guard.write(next, () => {})
  try {
    guard.write(forgotten, () => {})
    return [`the guard accepted a write with token ${forgotten.token} after one with ${next.token}`]
  } catch (error) {
    if (error instanceof LeaseError && error.code === 'stale-token') return []
    throw error
  } finally {
    database.close()
  }
}

async function openSentinel(): Promise<Replicated> {
  const group = await SentinelGroup.start()
  return {
    address: `redis+sentinel://127.0.0.1:${group.sentinelPort}/mymaster`,
    waitForReplica: () => group.waitForReplica(),
    stopReplication: () => group.stopReplication(),
    failOver: () => group.killPrimary(),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  }
}

/** Clients reach the primary through a link, as through a name that is moved to the new primary. */
async function openPostgresPair(): Promise<Replicated> {
  const pair = await PostgresPair.start()
  const link = await FaultyLink.open(pair.primary.port)
  return {
    address: `postgres://postgres@${link.address}/postgres`,
    waitForReplica: () => pair.waitForStandby(),
    stopReplication: () => pair.stopReplication(),
    async failOver() {
      await pair.failOver()
      link.target = pair.standby.port
      link.reset()
    },
    async [Symbol.asyncDispose]() {
      await link[Symbol.asyncDispose]()
      await pair[Symbol.asyncDispose]()
    },
  }
}
