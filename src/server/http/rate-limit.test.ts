import { describe, expect, it } from 'vitest'
import { type Browser, LEASE_TOKEN, type ServiceBed, serviceBed } from '../../../test/server/service-bed.ts'

const LOCK = '/api/documents/room-1/lock'
const FEW = { rate: 1, burst: 3 }

/** The statuses, sorted, of the answers to as many requests as the address may send at once, and two more. */
async function callTooOften(client: Browser, method: string, path: string): Promise<number[]> {
  const calls = Array.from({ length: FEW.burst + 2 }, () => client.call(method, path))
  return (await Promise.all(calls)).map(({ status }) => status).sort()
}

function acquire(bed: ServiceBed, token: string, resource: string) {
  return bed.program(token).call('POST', `/api/leases/${resource}`, { id: resource, owner: 'o', ttl: 60_000 })
}

describe('an address that sends too many requests', () => {
  it('an address that sends too many requests may still send heartbeats and unlock', async () => {
    await using bed = await serviceBed({ settings: FEW })
    const holder = bed.browser()
    expect((await holder.call('POST', LOCK)).status).toBe(200)
    expect(await callTooOften(holder, 'GET', LOCK)).toContain(429)
    expect((await holder.call('PUT', LOCK)).status).toBe(200)
    expect((await holder.call('DELETE', LOCK)).status).toBe(200)
  })

  it('an address that sends too many requests is limited in its heartbeats too', async () => {
    await using bed = await serviceBed({ settings: FEW })
    expect(await callTooOften(bed.browser(), 'PUT', LOCK)).toContain(429)
  })
})

describe('a program with a token of the settings', () => {
  it('takes and releases as many leases as it likes', async () => {
    await using bed = await serviceBed({ settings: FEW })
    const names = Array.from({ length: 20 }, (_, n) => `r${n}`)
    for (const name of names) expect((await acquire(bed, LEASE_TOKEN, name)).status).toBe(200)
    for (const name of names) {
      const released = await bed.program(LEASE_TOKEN).call('DELETE', `/api/leases/${name}`, { id: name })
      expect(released.status).toBe(200)
    }
  })

  it('a program with a token of the settings does not lift the limit for others at its address, nor for tokens that are guessed', async () => {
    await using bed = await serviceBed({ settings: FEW })
    expect((await acquire(bed, LEASE_TOKEN, 'r')).status).toBe(200)
    expect(await callTooOften(bed.program('a-guess'), 'GET', '/api/leases')).toEqual([
      401, 401, 401, 429, 429,
    ])
    expect((await bed.browser().call('GET', LOCK)).status).toBe(429)
    expect((await acquire(bed, LEASE_TOKEN, 'r2')).status).toBe(200)
  })
})
