import { describe, expect, it } from 'vitest'
import { LeaseError } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('promise 5, being held by another is not an error', () => {
  it('a held resource is null for tryAcquire and lease-held with the holder for acquire', async () => {
    const { leases, another } = setUp()
    const lease = await another().acquire('r', { owner: 'Mika', metadata: { host: 'a' } })
    expect(await leases.tryAcquire('r')).toBeNull()
    const error = await leases.acquire('r', { wait: 0 }).catch((reason) => reason)
    expect(error).toBeInstanceOf(LeaseError)
    expect(error).toMatchObject({
      code: 'lease-held',
      retryable: true,
      resource: 'r',
      holder: { owner: 'Mika', metadata: { host: 'a' }, expiresAt: lease.expiresAt, token: lease.token },
    })
  })

  it('an error names the owner of another process', async () => {
    const { store, leases } = setUp()
    await store.acquire({ resource: 'r', id: 'elsewhere', owner: 'Mika', ttl: 30_000 })
    await expect(leases.acquire('r', { wait: 0 })).rejects.toThrow(/^r is held by Mika$/)
  })

  it('says that this process holds it itself, and since when', async () => {
    const { clock, leases, another } = setUp()
    const since = new Date(clock.now()).toTimeString().slice(0, 8)
    const lease = await another().acquire('r', { owner: 'Mika' })
    const message = `r is held by this process, since ${since}: release it first`
    await expect(leases.acquire('r', { wait: 0 })).rejects.toThrow(message)
    await lease.release()
    await expect(leases.acquire('r', { wait: 0 })).resolves.toMatchObject({ held: true })
  })

  it('throws from tryAcquire what is an error', async () => {
    const { network, leases } = setUp()
    network.faults = { failBefore: 1 }
    await expect(leases.tryAcquire('r')).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
  })
})
