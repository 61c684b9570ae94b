/**
 * A process that takes one lease again and again, until it is told to finish or is killed. It holds each until
 * it is told to let go or loses it, and notes all the while that it believes to hold it.
 */

import { onAbort } from '../../base/abort.ts'
import { createLeases, type Lease } from '../../core/index.ts'
import { IN_TIME_MS, NOTE_EVERY_MS } from '../options.ts'
import { GuardedFile } from './guarded-file.ts'
import { appendTo, now } from './observation.ts'
import { openStoreOf } from './store-module.ts'

export interface WorkerOptions {
  /** The module that opens the store. */
  readonly module: string
  readonly address: string
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
const { module, address, resource, name, ttl, share, logPath, guardedPath } = options
const note = appendTo(logPath)
const guarded = new GuardedFile(guardedPath)
const { store, close } = await openStoreOf(module, address)
notePlaces()
const leases = createLeases(store, { owner: name, ttl, wait: Number.POSITIVE_INFINITY })
const finish = new AbortController()
const finished = aborted(finish.signal)
let letGo: (token: number) => void = () => {}

process.on('message', (order: WorkerOrder) => {
  if (order.type === 'finish') {
    note({ at: now(), worker: name, resource, place: null })
    finish.abort()
  } else if (order.type === 'release') letGo(order.token)
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

/** The time is taken after the answer. After a late answer the place may be lost already. */
function notePlaces(): void {
  const acquire = store.acquire.bind(store)
  store.acquire = async (ask, call) => {
    const sent = now()
    const answer = await acquire(ask, call)
    const at = now()
    if (!answer.granted && answer.place !== null && at - sent < IN_TIME_MS * 1000 && !finish.signal.aborted)
      note({ at, worker: name, resource, place: answer.place })
    return answer
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve))
}

function tell(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}
