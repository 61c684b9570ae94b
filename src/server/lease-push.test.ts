import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import {
  ADMIN_TOKEN,
  type Browser,
  type Heard,
  LEASE_TOKEN,
  type ServiceBed,
  serviceBed,
} from '../../test/server/service-bed.ts'
import { clientChannel, LEASES_CHANNEL } from '../protocol/index.ts'

const LEASE = '/api/leases/job'
const ASK = { id: 'id-1', owner: 'worker', ttl: 10_000, client: 'client-1' }

let bed: ServiceBed
let program: Browser
beforeEach(async () => {
  bed = await serviceBed()
  program = bed.program(LEASE_TOKEN)
})
afterEach(() => bed[Symbol.asyncDispose]())

describe('pushes of the lease API', () => {
  it('wake the first waiter, which then gets the lease', async () => {
    const heard = await bed.privateSocket(clientChannel('client-2'))
    await program.call('POST', LEASE, ASK)
    const waiting = { ...ASK, id: 'id-2', client: 'client-2', wait: true }
    expect((await program.call('POST', LEASE, waiting)).body).toMatchObject({ granted: false, place: 0 })
    await program.call('DELETE', LEASE, { id: 'id-1' })
    await eventually(() =>
      expect(last(heard)).toEqual(['lease.wake', { resource: 'job', id: 'id-2', in_ms: 0 }]),
    )
    expect((await program.call('POST', LEASE, waiting)).body).toMatchObject({ granted: true })
  })

  it('pushes of the lease API tell a holder that its lease was ended by force', async () => {
    const heard = await bed.privateSocket(clientChannel('client-1'))
    const { lease } = Object((await program.call('POST', LEASE, ASK)).body)
    await program.call('DELETE', LEASE, { token: lease.token })
    await eventually(() => expect(last(heard)).toEqual(['lease.lost', { resource: 'job', id: 'id-1' }]))
  })

  it('report every change of every lease to observers, without ids', async () => {
    const heard = await bed.privateSocket(LEASES_CHANNEL)
    await program.call('POST', LEASE, ASK)
    await bed.clock.advance(1000)
    await program.call('PUT', LEASE, { id: 'id-1', ttl: 10_000 })
    await program.call('DELETE', LEASE, { id: 'id-1' })
    await bed.browser().call('POST', '/api/documents/room/lock')
    await eventually(() => expect(heard).toHaveLength(4))
    const changes = heard.map(({ data }) => Object(data).lease)
    const told = changes.map(({ resource, state }) => `${resource} ${state}`)
    expect(told).toEqual(['job held', 'job held', 'job released', 'document:room held'])
    expect(changes.some((lease) => 'id' in lease)).toBe(false)
  })

  it('pushes of the lease API raise the fence of a document that is taken over through the lease API', async () => {
    const user = bed.browser()
    const { token } = (await user.call('POST', '/api/documents/room/lock')).body
    const admin = bed.program(ADMIN_TOKEN)
    const taken = await admin.call('POST', '/api/leases/document:room', { ...ASK, replace: token })
    expect(taken.body).toMatchObject({ granted: true, replaced: { state: 'taken-over' } })
    await admin.call('DELETE', '/api/leases/document:room', { id: 'id-1' })
    expect((await user.call('PUT', '/api/documents/room', { content: 'old', token })).body.error).toBe(
      'stale_token',
    )
  })
})

describe('a client of the lease API that has died', () => {
  const waiting = (id: string, client: string) => ({ ...ASK, id, client, wait: true })
  const ask = async (id: string, client: string, path = LEASE) =>
    (await program.call('POST', path, waiting(id, client))).body

  it('a client of the lease API that has died costs those behind it one reservation, however many of its requests are in the queue', async () => {
    await program.call('POST', LEASE, ASK)
    for (let n = 0; n < 20; n++) await ask(`dead-${n}`, 'dead')
    const heard = await bed.privateSocket(clientChannel('alive'))
    expect(await ask('next', 'alive')).toMatchObject({ granted: false, place: 20 })
    await program.call('DELETE', LEASE, { id: 'id-1' })
    await bed.clock.advance(1001)
    await eventually(() =>
      expect(heard).toContainEqual(
        expect.objectContaining({ data: { resource: 'job', id: 'next', in_ms: 0 } }),
      ),
    )
    expect(await ask('next', 'alive')).toMatchObject({ granted: true })
  })

  it('a client of the lease API that has died keeps the leases that it holds, and a client that asks again keeps its places', async () => {
    await program.call('POST', LEASE, ASK)
    await ask('first', 'polling')
    await ask('second', 'polling')
    await program.call('POST', '/api/leases/other', { ...ASK, id: 'held', client: 'polling' })
    await program.call('DELETE', LEASE, { id: 'id-1' })
    await bed.clock.advance(500)
    expect(await ask('first', 'polling')).toMatchObject({ granted: true })
    await bed.clock.advance(1000)
    expect(await ask('second', 'polling')).toMatchObject({ granted: false, place: 0 })
    await program.call('DELETE', LEASE, { id: 'first' })
    await bed.clock.advance(1001)
    await eventually(async () =>
      expect((await bed.store.waiting?.({ resources: ['job'], limit: 0 }))?.[0]?.count).toBe(0),
    )
    expect(await bed.store.read(['other'])).toMatchObject([[{ id: 'held' }]])
  })
})

describe('several leases of a resource', () => {
  it('several leases of a resource are told to observers each for itself, and a share without a limit is a word', async () => {
    const heard = await bed.privateSocket(LEASES_CHANNEL)
    for (const [id, share] of [
      ['a', 'unlimited'],
      ['b', 'unlimited'],
      ['c', 3],
    ])
      expect((await program.call('POST', LEASE, { ...ASK, id, share })).body).toMatchObject({
        lease: { share },
      })
    await program.call('DELETE', LEASE, { id: 'b' })
    await program.call('POST', LEASE, { ...ASK, id: 'd', replace: 'any' })
    const told = () => heard.map(({ data: { lease } }) => `${Object(lease).state} ${Object(lease).share}`)
    await eventually(() => expect(told()).toHaveLength(7))
    expect(told()).toEqual([
      'held unlimited',
      'held unlimited',
      'held 3',
      'released unlimited',
      'taken-over unlimited',
      'taken-over 3',
      'held null',
    ])
  })
})

describe('an authorize of the user', () => {
  it.each([
    ['GET', '/api/locks', 'observe'],
    ['GET', '/api/stats', 'observe'],
    ['POST', '/api/sweep', 'lease'],
    ['POST', '/telemetry', 'telemetry'],
  ])(
    'an authorize of the user is asked about all resources for %s %s, whatever the query says',
    async (method, path, action) => {
      const asked: string[][] = []
      await using own = await serviceBed({
        authorize: (_, ...about) => {
          asked.push(about)
          return about[1] === 'mine'
        },
      })
      expect(
        (await own.browser().call(method, `${path}?resource=mine`, method === 'POST' ? {} : undefined))
          .status,
      ).toBe(403)
      expect(asked).toEqual([[action, '']])
    },
  )
})

describe('the lease API for sessions', () => {
  it('the lease API for sessions is open with openLeases, except for the leases of documents', async () => {
    await using open = await serviceBed({ settings: { openLeases: true } })
    const [holder, other] = [open.browser(), open.browser()]
    await holder.call('POST', '/api/documents/room/lock')
    expect((await other.call('POST', LEASE, ASK)).status).toBe(200)
    for (const path of ['/api/leases/document:room', '/api/leases?resource=job&resource=document:room'])
      expect((await other.call('GET', path)).body.error).toBe('forbidden')
    expect((await other.call('DELETE', '/api/leases/document:room', { token: 1 })).body.error).toBe(
      'forbidden',
    )
    const { leases } = Object((await other.call('GET', '/api/leases')).body)
    expect(leases.map(({ resource }: { resource: string }) => resource)).toEqual(['job'])
  })

  describe('limits the waiters', () => {
    const clientOf = (request: Request) => request.headers.get('x-address') ?? undefined
    async function openBed(settings: { maxWaiters?: number; maxWaitersOfAddress?: number }) {
      const open = await serviceBed({ clientOf, settings: { openLeases: true, ...settings } })
      for (const resource of ['a', 'b', 'c'])
        await open.store.acquire({ resource, id: 'holder', owner: 'holder', ttl: 60_000 })
      const browser = open.browser()
      const ask = (resource: string, id: string, address = '1.1.1.1', wait = true) =>
        browser.call(
          'POST',
          `/api/leases/${resource}`,
          { id, owner: 'page', ttl: 10_000, wait },
          { headers: { 'X-Address': address } },
        )
      const refusal = { status: 429, body: { error: 'too_many_waiters' } }
      return { ...open, browser, ask, refusal, [Symbol.asyncDispose]: () => open.server.close() }
    }

    it('limits the waiters by address, whatever the resources and ids are', async () => {
      await using open = await openBed({ maxWaitersOfAddress: 2 })
      const { ask, refusal } = open
      const resources = ['a', 'b', 'c']
      const statuses = (await Promise.all(resources.map((resource) => ask(resource, 'same')))).map(
        ({ status }) => status,
      )
      expect(statuses.toSorted()).toEqual([409, 409, 429])
      const last = resources[statuses.indexOf(429)] as string
      const refused = await ask(last, 'same')
      expect(refused).toMatchObject(refusal)
      expect(refused.body.message).toBe('2 requests from your address wait already')
      expect(refused.headers.get('retry-after')).toBe('5')
      expect((await open.store.waiting?.({ resources: [last], limit: 0 }))?.[0]?.count).toBe(0)
      expect((await ask(last, 'other', '2.2.2.2')).body).toMatchObject({ place: 0 })
      const program = open.program(LEASE_TOKEN)
      const asked = { ...ASK, id: 'worker', wait: true }
      for (const resource of resources)
        expect((await program.call('POST', `/api/leases/${resource}`, asked)).status).toBe(409)
    })

    it('a waiter at the limit may ask again, and what is free is granted', async () => {
      await using open = await openBed({ maxWaitersOfAddress: 1 })
      const { ask, refusal } = open
      await ask('a', 'first')
      expect((await ask('a', 'first')).body).toMatchObject({ place: 0 })
      expect((await ask('b', 'second', '1.1.1.1', false)).body).toMatchObject({ place: null })
      expect((await ask('free', 'third')).status).toBe(200)
      expect(await ask('b', 'second')).toMatchObject(refusal)
      await open.browser.call('DELETE', '/api/leases/a', { id: 'first' })
      expect((await ask('b', 'second')).body).toMatchObject({ place: 0 })
      await open.store.release({ resource: 'b', id: 'holder' })
      expect((await ask('b', 'second')).status).toBe(200)
      expect((await ask('c', 'third')).body).toMatchObject({ place: 0 })
    })

    it('limits the waiters by resource', async () => {
      await using open = await openBed({ maxWaiters: 1 })
      const { ask, refusal } = open
      await ask('a', 'first', '1.1.1.1')
      expect(await ask('a', 'second', '2.2.2.2')).toMatchObject(refusal)
      expect((await ask('b', 'second', '2.2.2.2')).status).toBe(409)
    })

    it('limits the waiters and forgets those that another node has served', async () => {
      await using open = await openBed({ maxWaitersOfAddress: 2 })
      const { ask, refusal } = open
      await ask('a', 'first')
      await ask('b', 'first')
      await open.store.release({ resource: 'a', id: 'first' })
      expect((await ask('c', 'first')).body).toMatchObject({ place: 0 })
      await open.clock.advance(1000)
      expect(await ask('a', 'first')).toMatchObject(refusal)
    })
  })
})

function last(heard: readonly Heard[]): unknown {
  const { event, data } = heard.at(-1) ?? {}
  return [event, data]
}
