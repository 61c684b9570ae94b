import { describe, expect, it } from 'vitest'
import { serviceBed, story } from '../../test/server/service-bed.ts'

const LOCK = '/api/documents/room-1/lock'

describe('the new end of a lock', () => {
  it('is sent to pages of the own client, at most once per heartbeat', async () => {
    await using bed = await serviceBed()
    const [page, other] = [bed.socket('room-1', 'holdfast'), bed.socket('room-1')]
    const holder = bed.browser()
    await holder.call('POST', LOCK)
    for (let second = 1; second <= 20; second++) {
      await bed.clock.advance(1000)
      await holder.call('PUT', LOCK)
    }
    expect(story(page)).toEqual([
      'document.locked 12:00:00',
      'document.renewed 12:00:01',
      'document.renewed 12:00:10',
      'document.renewed 12:00:19',
    ])
    expect(page.at(-1)?.data).toMatchObject({ expires_at: '2030-01-01T12:00:49.000Z', expires_in_ms: 30_000 })
    expect(story(other)).toEqual(['document.locked 12:00:00'])
  })
})

describe('the terms of a room', () => {
  it('are those that roomTerms returns, for the lock, its heartbeats and the client', async () => {
    await using bed = await serviceBed({
      roomTerms: (room) => (room === 'room-1' ? { ttl: '5m' } : undefined),
    })
    const holder = bed.browser()
    const { body } = await holder.call('POST', LOCK)
    expect(body).toMatchObject({ expires_in_ms: 300_000, ttl_ms: 300_000, heartbeat_ms: 10_000 })
    await bed.clock.advance(120_000)
    expect((await holder.call('PUT', LOCK)).body).toMatchObject({ expires_in_ms: 300_000 })
    const usual = await holder.call('POST', '/api/documents/room-2/lock')
    expect(usual.body).toMatchObject({ ttl_ms: 30_000, heartbeat_ms: 10_000 })
  })

  it.each([
    [{ ttl: '6s' }, { ttl_ms: 6000, heartbeat_ms: 2000 }],
    [{ heartbeat: '5s' }, { ttl_ms: 30_000, heartbeat_ms: 5000 }],
    [{ ttl: '5s', heartbeat: '5s' }, { error: 'invalid_argument' }],
    [{ ttl: '1ms' }, { error: 'invalid_argument' }],
  ] as const)('%j', async (terms, expected) => {
    await using bed = await serviceBed({ roomTerms: () => terms })
    expect((await bed.browser().call('POST', LOCK)).body).toMatchObject(expected)
  })
})
