/** A process with leases on the file that its argument names. It takes and gives back what its parent tells it. */
import { createLeases, type Lease } from '../../../src/core/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'

export type WorkerOrder = { readonly do: 'acquire' | 'release'; readonly resource: string }
export interface WorkerMessage {
  readonly has: 'started' | 'acquired' | 'released' | 'lost' | 'failed'
  readonly why?: string
  /** Milliseconds since 1970, on the clock that all processes of a machine share. */
  readonly at: number
}

const leases = createLeases(sqliteStore(process.argv[2] ?? ''))
const held = new Map<string, Lease>()
leases.subscribe((event) => {
  if (event.type === 'lost') tell('lost', event.reason)
})

process.on('message', ({ do: what, resource }: WorkerOrder) => {
  const work = what === 'acquire' ? acquire(resource) : release(resource)
  work.catch((error: unknown) => tell('failed', String(error)))
})
process.once('disconnect', () => process.exit())
tell('started')

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
