/**
 * A process that takes one lease again and again, until it is told to finish or is killed. It holds each until
 * it is told to let go or loses it, and notes all the while that it believes to hold it.
 */
import { createLeases, type Lease } from '../../src/core/index.ts'
import { GuardedFile } from './guarded-file.ts'
import { appendTo, now } from './observation.ts'
import { openStore } from './open-store.ts'

const NOTE_EVERY_MS = 5

export interface WorkerOptions {
  readonly url: string
  readonly resource: string
  readonly name: string
  readonly ttl: number
  readonly logPath: string
  readonly guardedPath: string
}

export type WorkerMessage =
  | { readonly type: 'asks' }
  | { readonly type: 'holds'; readonly token: number; readonly at: number }
  | { readonly type: 'released'; readonly token: number }
  | {
      readonly type: 'lost'
      readonly token: number
      /** What it tried to write with its old token, when it had noticed the loss. */
      readonly lateWrite: { readonly at: number; readonly accepted: boolean }
    }

export type WorkerOrder = { readonly type: 'release'; readonly token: number } | { readonly type: 'finish' }

const { url, resource, name, ttl, logPath, guardedPath }: WorkerOptions = JSON.parse(process.argv[2] ?? '')
const note = appendTo(logPath)
const guarded = new GuardedFile(guardedPath)
const { store, close } = await openStore(url)
const leases = createLeases(store, { owner: name, ttl, wait: Number.POSITIVE_INFINITY })
const finish = new AbortController()
let letGo: (token: number) => void = () => {}

process.on('message', (order: WorkerOrder) => {
  if (order.type === 'finish') finish.abort()
  else letGo(order.token)
})
process.once('disconnect', () => process.exit())

while (!finish.signal.aborted) {
  note({ at: now(), worker: name, resource })
  tell({ type: 'asks' })
  const lease = await leases.acquire(resource, { signal: finish.signal }).catch((error) => {
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
  noteHeld(lease)
  guarded.write(resource, token, name)
  const noting = setInterval(() => noteHeld(lease), NOTE_EVERY_MS)
  const over = new Promise<void>((resolve) => {
    letGo = (which) => which === token && resolve()
    finish.signal.addEventListener('abort', () => resolve())
    lease.signal.addEventListener('abort', () => resolve())
  })
  tell({ type: 'holds', token, at: now() })
  await over
  clearInterval(noting)
  noteHeld(lease)
  if (lease.signal.aborted) {
    const accepted = guarded.write(resource, token, name)
    tell({ type: 'lost', token, lateWrite: { at: now(), accepted } })
  }
  await lease[Symbol.asyncDispose]()
  tell({ type: 'released', token })
}

/** The time is taken before the look: at that moment the lease was held, however long the look takes. */
function noteHeld(lease: Lease): void {
  const at = now()
  if (lease.held) note({ at, worker: name, resource, token: lease.token })
}

function tell(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}
