/**
 * A process that acquires one lease as often as it can, and writes down when it held it. After the order `keep`, it
 * holds the next lease until it is killed or loses the lease.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLeases, type Lease } from '../../../src/core/index.ts'
import { fileStore } from '../../../src/stores/file/index.ts'

/** A moment at which a worker held the lease, on a clock that all processes of the machine share. */
export interface Note {
  readonly at: number
  readonly token: number
  readonly worker: string
}

export type Order = 'keep' | 'finish'
export type Report = { readonly type: 'keeps' | 'lost'; readonly token: number }

const [, , directory = '', log = '', worker = ''] = process.argv
const notes = openSync(log, 'a')
const store = fileStore(directory)
const leases = createLeases(store, { ttl: 1000, wait: Number.POSITIVE_INFINITY, owner: worker })
let keep = false
let finished = false

process.on('message', (order: Order) => {
  if (order === 'keep') keep = true
  else finished = true
})
process.once('disconnect', () => process.exit())

while (!finished) {
  await using lease = await leases.acquire('contended')
  note(lease)
  if (keep) await keepUntilLost(lease)
  note(lease)
}
await leases.close()
await store.close()
closeSync(notes)
process.disconnect()

async function keepUntilLost(lease: Lease): Promise<void> {
  report({ type: 'keeps', token: lease.token })
  keep = false
  while (!lease.signal.aborted) {
    note(lease)
    await sleep(5)
  }
  report({ type: 'lost', token: lease.token })
}

function note(lease: Lease): void {
  const at = Number(process.hrtime.bigint())
  if (lease.held) writeSync(notes, `${JSON.stringify({ at, token: lease.token, worker } satisfies Note)}\n`)
}

function report(message: Report): void {
  process.send?.(message)
}
