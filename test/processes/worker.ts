/**
 * A process that takes one lease again and again, until it is told to finish or is killed. It holds each until
 * it is told to let go or loses it, and notes all the while that it believes to hold it.
 */
import { createLeases, type Lease } from '../../src/core/index.ts'
import { aborted } from '../aborted.ts'
import { GuardedFile } from './guarded-file.ts'
import { appendTo, now } from './observation.ts'
import { openStore } from './open-store.ts'

const NOTE_EVERY_MS = 5

export interface WorkerOptions {
  readonly url: string
  readonly resource: string
  readonly name: string
  readonly ttl: number
  /** How many may hold the resource together. Absent: one. */
  readonly share?: number | undefined
  readonly logPath: string
  readonly guardedPath: string
}

export type WorkerMessage =
  | { readonly type: 'asks' }
  | { readonly type: 'holds' | 'lost' | 'released'; readonly token: number }
  | { readonly type: 'wrote'; readonly token: number; readonly accepted: boolean }

export type WorkerOrder =
  /** To write with that token, whatever became of its lease. */
  { readonly type: 'release' | 'write'; readonly token: number } | { readonly type: 'finish' }

process.once('disconnect', () => process.exit())
const options: WorkerOptions = JSON.parse(process.argv[2] ?? '')
const { url, resource, name, ttl, share, logPath, guardedPath } = options
const note = appendTo(logPath)
const guarded = new GuardedFile(guardedPath)
const { store, close } = await openStore(url)
const leases = createLeases(store, { owner: name, ttl, wait: Number.POSITIVE_INFINITY })
const finish = new AbortController()
const finished = aborted(finish.signal)
let letGo: (token: number) => void = () => {}

process.on('message', (order: WorkerOrder) => {
  if (order.type === 'finish') finish.abort()
  else if (order.type === 'release') letGo(order.token)
  else tell({ type: 'wrote', token: order.token, accepted: guarded.write(resource, order.token, name) })
})

while (!finish.signal.aborted) {
  note({ at: now(), worker: name, resource })
  tell({ type: 'asks' })
  const lease = await leases.acquire(resource, { signal: finish.signal, share }).catch((error) => {
    if (finish.signal.aborted) return null
    throw error
  })
  if (lease) await hold(lease)
}
await leases.close()
await close()
process.disconnect()

async function hold(lease: Lease): Promise<void> {
  const { token } = lease
  const released = new Promise<void>((resolve) => {
    letGo = (which) => which === token && resolve()
  })
  noteHeld(lease)
  guarded.write(resource, token, name)
  // The write may take longer than the lease lasts.
  if (noteHeld(lease)) tell({ type: 'holds', token })
  const noting = setInterval(() => noteHeld(lease), NOTE_EVERY_MS)
  await Promise.race([released, finished, aborted(lease.signal)])
  clearInterval(noting)
  noteHeld(lease)
  if (lease.signal.aborted) tell({ type: 'lost', token })
  await lease[Symbol.asyncDispose]()
  tell({ type: 'released', token })
}

/** The time is taken before the look: at that moment the lease was held, however long the look takes. */
function noteHeld(lease: Lease): boolean {
  const at = now()
  const { held, token } = lease
  if (held) note({ at, worker: name, resource, token, share })
  return held
}

function tell(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}
