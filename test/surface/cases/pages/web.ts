import assert from 'node:assert/strict'
import { createLeases, systemClock } from 'holdfast'
import { directoryStore, webLockStore, webStore } from 'holdfast/web'
import { unique } from '../backend.ts'
import { storeCase } from '../store.ts'

/** The stores of a browser, as docs/stores/web.md uses them. */
export async function webStoresCase(): Promise<void> {
  const { locks } = navigator
  const clock = systemClock
  const directory = () => navigator.storage.getDirectory()
  await storeCase(() => webStore())
  await storeCase(() => webStore({ prefix: `${unique}:web:`, locks, clock, directory, takeoverAfter: '1m' }))
  await storeCase(() => webLockStore())
  await storeCase(() => webLockStore({ prefix: `${unique}:locks:`, locks, clock, takeoverAfter: false }))
  await storeCase(() => directoryStore(directory))
  await storeCase(() => directoryStore(directory, { file: `${unique}.json`, clock }))
  const picked = await (await directory()).getDirectoryHandle(unique, { create: true })
  await using store = directoryStore(picked)
  await using leases = createLeases(store)
  assert.equal(await leases.withLease('drawing:7', (lease) => lease.signal.aborted), false)
}
