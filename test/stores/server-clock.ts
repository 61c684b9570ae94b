import { expect, vi } from 'vitest'
import type { LeaseStore } from '../../src/core/index.ts'
import { eventually } from '../eventually.ts'
import { ask, grab } from './asking-by-id.ts'

/** Expects that leases last by the clock of the server, however wrong the clock of the client is. */
export async function expectServerClock(store: LeaseStore, peer: LeaseStore): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
  try {
    await grab(store, 'a')
    await grab(store, 'short', { resource: 'short', ttl: 300 })
    expect(await ask(store, 'b')).toMatchObject({ granted: false, holders: [{ id: 'a' }] })
    vi.setSystemTime(0)
    expect((await store.renew({ resource: 'r', id: 'a', ttl: 60_000 })).ok).toBe(true)
    expect(await ask(peer, 'c')).toMatchObject({ granted: false, holders: [{ id: 'a' }] })
  } finally {
    vi.useRealTimers()
  }
  await eventually(async () => expect((await ask(peer, 'd', { resource: 'short' })).granted).toBe(true))
}
