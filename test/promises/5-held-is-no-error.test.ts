import { describe, expect, it } from 'vitest'
import { LeaseError } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('promise 5, being held by another is not an error', () => {
  it('is null for tryAcquire and lease-held with the holder for acquire', async () => {
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
      message: 'r is held by Mika',
    })
  })

  it('throws from tryAcquire what is an error', async () => {
    const { network, leases } = setUp()
    network.faults = { failBefore: 1 }
    await expect(leases.tryAcquire('r')).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
  })
})
