/**
 * A process with leases in the file that its argument names. It acquires and releases what its parent orders. It has
 * no timers for renewals and retries, so it learns of other processes only by the store's push.
 */
import { createLeases, type Lease } from '../../../src/core/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { pushOnlyClock } from '../../push-only-clock.ts'

export type WorkerOrder =
  | { readonly do: 'open'; readonly tables: readonly string[] }
  | { readonly do: 'acquire' | 'release'; readonly resource: string }
export interface WorkerMessage {
  readonly has: 'started' | 'opened' | 'acquired' | 'released' | 'lost' | 'failed'
  readonly why?: string
  /** Milliseconds since 1970, on the clock that all processes of a machine share. */
  readonly at: number
}

const path = process.argv[2] ?? ''
const leases = createLeases(sqliteStore(path), { clock: pushOnlyClock })
const held = new Map<string, Lease>()
leases.subscribe((event) => {
  if (event.type === 'lost') tell('lost', event.reason)
})

process.on('message', (order: WorkerOrder) => {
  carryOut(order).catch((error: unknown) => tell('failed', String(error)))
})
process.once('disconnect', () => process.exit())
tell('started')

function carryOut(order: WorkerOrder): Promise<void> {
  if (order.do === 'open') return open(order.tables)
  return order.do === 'acquire' ? acquire(order.resource) : release(order.resource)
}

async function open(tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const store = sqliteStore(path, { table })
    await store.sweep({ limit: 1 })
    await store.close()
  }
  tell('opened')
}

async function acquire(resource: string): Promise<void> {
  const lease = await leases.acquire(resource)
  tell('acquired')
  held.set(resource, lease)
}

async function release(resource: string): Promise<void> {
  await held.get(resource)?.release()
  tell('released')
}

function tell(has: WorkerMessage['has'], why?: string): void {
  process.send?.({ has, at: performance.timeOrigin + performance.now(), ...(why && { why }) })
}
