import { describe, expect, it } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { ADMIN_TOKEN, serviceBed, story } from '../../test/server/service-bed.ts'
import { settled } from '../testing/fake-clock.ts'
import { memoryBus } from './buses/memory.ts'

const LOCK = '/api/documents/room-1/lock'

describe('the new end of a lock', () => {
  it('the new end of a lock is sent to pages of the own client, at most once per heartbeat', async () => {
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

describe('a message of a node of another version', () => {
  it.each([
    { token: 5 },
    { token: 5, holder: null },
    { token: 5, holder: { name: {} } },
    { token: '5', holder: { name: 'Mika' } },
  ])(
    'a message of a node of another version is ignored if it does not name the holder: %j',
    async (event) => {
      const bus = memoryBus()
      const errors: unknown[] = []
      await using bed = await serviceBed({
        bus: {
          ...bus,
          subscribe: (on) =>
            bus.subscribe((message) => {
              try {
                on(message)
              } catch (error) {
                errors.push(error)
              }
            }),
        },
      })
      const page = bed.socket('room-1', 'holdfast')
      await bus.publish({
        topic: 'document',
        data: { name: 'document.renewed', event: { room_id: 'room-1', ...event } },
      })
      await settled()
      expect([errors, page]).toEqual([[], []])
    },
  )
})

describe('the name of a holder', () => {
  const nameIn = (answer: object) => Object(Object(answer).holder).name

  it('changes with a heartbeat, on every node and in what others see and read', async () => {
    const bus = memoryBus()
    await using one = await serviceBed({ bus })
    await using two = await serviceBed({ bus, store: one.store })
    const [near, far] = [one.socket('room-1', 'holdfast'), two.socket('room-1', 'holdfast')]
    const plain = one.socket('room-1')
    const holder = one.browser('tab-1')
    await holder.call('POST', LOCK, { name: 'Mika' })
    await eventually(() => expect(far).toHaveLength(1))
    await holder.call('PUT', LOCK, { name: 'Mika' })
    await holder.call('PUT', LOCK, { name: 'Mika (away)' })
    for (const heard of [near, far])
      await eventually(() => expect(nameIn(heard.at(-1)?.data ?? {})).toBe('Mika (away)'))
    expect(plain.map(({ event }) => event)).toEqual(['document.locked'])
    for (const bed of [one, two]) {
      const reader = bed.browser('tab-2')
      expect(nameIn((await reader.call('GET', LOCK)).body)).toBe('Mika (away)')
      expect(nameIn((await reader.call('POST', LOCK)).body)).toBe('Mika (away)')
      const { body } = await bed.program(ADMIN_TOKEN).call('GET', '/api/locks')
      expect(body).toMatchObject({
        locks: [{ metadata: { name: 'Mika (away)', client: expect.any(String) } }],
      })
    }
    // A heartbeat without a name changes nothing.
    await holder.call('PUT', LOCK)
    expect(nameIn((await holder.call('GET', LOCK)).body)).toBe('Mika (away)')
    await holder.call('PUT', LOCK, { name: null })
    expect(nameIn((await holder.call('GET', LOCK)).body)).toBeUndefined()
    await holder.call('DELETE', LOCK)
    await holder.call('POST', LOCK, { name: 'Mika' })
    expect(nameIn((await holder.call('GET', LOCK)).body)).toBe('Mika')
  })

  it('the name of a holder is told again with every heartbeat, for nodes that missed it', async () => {
    const bus = memoryBus()
    await using one = await serviceBed({ bus })
    const holder = one.browser('tab-1')
    await holder.call('POST', LOCK, { name: 'Mika' })
    await holder.call('PUT', LOCK, { name: 'Aoi' })
    await using late = await serviceBed({ bus, store: one.store })
    await holder.call('PUT', LOCK, { name: 'Aoi' })
    await eventually(async () => expect(nameIn((await late.browser().call('GET', LOCK)).body)).toBe('Aoi'))
  })

  it('the name of a holder is refused if it is malformed, and stays if the identity has a name of its own', async () => {
    await using bed = await serviceBed({ identify: async () => ({ id: 'mika', name: 'Mika of the office' }) })
    const holder = bed.browser('tab-1')
    await holder.call('POST', LOCK)
    expect((await holder.call('PUT', LOCK, { name: 'x'.repeat(81) })).status).toBe(400)
    await holder.call('PUT', LOCK, { name: 'Somebody else' })
    expect(nameIn((await holder.call('GET', LOCK)).body)).toBe('Mika of the office')
  })
})

describe('the terms of a room', () => {
  it('the terms of a room are those that roomTerms returns, for the lock, its heartbeats and the client', async () => {
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
    [{ ttl: '6s', heartBeat: '5s' }, { error: 'invalid_argument' }],
  ] as const)('%j', async (terms, expected) => {
    await using bed = await serviceBed({ roomTerms: () => terms })
    expect((await bed.browser().call('POST', LOCK)).body).toMatchObject(expected)
  })
})
