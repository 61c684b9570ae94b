import assert from 'node:assert/strict'
import { createLeases } from 'holdfast'
import { webStore } from 'holdfast/web'
import { workerClock } from 'holdfast/worker-clock'
import { unique } from '../backend.ts'

/** Timers that also run in a hidden page, as docs/stores/web.md uses them. */
export async function workerClockCase(): Promise<void> {
  const clock = workerClock()
  assert(clock.now() > 0 && clock.monotonic() > 0 && clock.random() < 1)
  let isCancelled = true
  const cancel = clock.setTimer(() => {
    isCancelled = false
  }, 1)
  cancel()
  await new Promise<void>((resolve) => clock.setTimer(resolve, 2))
  assert(isCancelled)
  await using store = webStore({ prefix: `${unique}:clock:` })
  await using leases = createLeases(store, { clock })
  assert(await leases.withLease('drawing:7', (lease) => lease.held))
}
