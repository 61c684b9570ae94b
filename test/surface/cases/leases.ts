import assert from 'node:assert/strict'
import {
  createLeases,
  LeaseError,
  type LeaseEvent,
  type LeaseStore,
  type Leases,
  parseDuration,
  systemClock,
} from 'holdfast'
import { unique } from './backend.ts'

type Open = () => LeaseStore | Promise<LeaseStore>

/** Leases on one store: as the guide uses them, then with every option. */
export async function leasesCase(open: Open): Promise<void> {
  await using store = await open()
  await withDefaults(store)
  await withEveryOption(store)
  await handedOver(store)
  await waitedFor(store)
  await watched(store)
  clockAndErrors()
}

async function withDefaults(store: LeaseStore): Promise<void> {
  const name = (resource: string) => `${unique}:defaults:${resource}`
  await using leases = createLeases(store)
  const token = await leases.withLease(name('a'), (lease) => {
    assert(lease.held)
    return lease.token
  })
  await using lease = await leases.acquire(name('a'))
  assert(lease.token > token)
  await lease.renew()
  assert.equal((await leases.inspect(name('a')))?.token, lease.token)
  assert.equal((await leases.holders(name('a'))).length, 1)
  assert.equal(await leases.tryAcquire(name('a')), null)
  const tried = await leases.tryWithLease(name('a'), () => 'never')
  assert(!tried.ran && tried.holder?.token === lease.token)
  const lost: LeaseError[] = []
  lease.onLost((error) => lost.push(error))()
  assert((await leases.list()).leases.length > 0)
  const listed = await leases.list({ prefix: name('') })
  assert(listed.leases.some(({ resource }) => resource === name('a')))
  await lease.release()
  assert(!lease.held)

  await using both = await leases.acquireAll([name('b'), name('c')])
  assert.deepEqual(both.leases.map(({ resource }) => resource).sort(), [name('b'), name('c')])
  await both.release()
  await using free = await leases.tryAcquire(name('c'))
  assert(free?.held)
  assert.equal(await leases.lead(name('d'), (leader) => leader.held), true)
  await leases.close()
}

async function withEveryOption(store: LeaseStore): Promise<void> {
  const name = (resource: string) => `${unique}:options:${resource}`
  const events: LeaseEvent[] = []
  const { signal } = new AbortController()
  const retry = (failures: number) => (failures < 3 ? 100 : null)
  await using leases = createLeases(store, {
    ...{ owner: 'surface', ttl: '1m', heartbeat: '10s', wait: '20s', retry },
    ...{
      callTimeout: '30s',
      closeTimeout: '10s',
      endsWithProcess: false,
      clock: systemClock,
      onEvent: (event) => events.push(event),
    },
  })
  const stop = leases.subscribe((event) => events.push(event))
  const each = { ttl: '2m', heartbeat: '20s', retry, owner: 'other', metadata: { page: 1 }, signal } as const
  const all = { ...each, share: 2, atLeast: 1, lockDelay: 1 }
  await using lease = await leases.acquire(name('a'), { ...all, wait: '1s' })
  assert.equal(lease.owner, 'other')
  assert.equal(lease.share, 2)
  assert.deepEqual(lease.metadata, { page: 1 })
  await lease.renew({ ttl: '3m' })
  await using second = await leases.tryAcquire(name('a'), all)
  assert(second?.held)
  await using both = await leases.acquireAll([name('b'), name('c')], { ...all, wait: '1s' })
  assert(both.held)
  await leases.withLease(name('d'), (held) => assert.equal(held.owner, 'other'), { ...all, wait: '1s' })
  assert.equal(await leases.lead(name('e'), () => 'led', all), 'led')
  const found = await leases.list({ prefix: name(''), limit: 1 })
  assert.deepEqual(
    found.leases.map(({ resource }) => resource),
    [name('a')],
  )
  const rest = await leases.list({ prefix: name(''), limit: 1, after: found.next })
  assert.deepEqual(
    rest.leases.map(({ resource }) => resource),
    [name('a')],
  )
  await using reader = await leases.acquire(name('f'), { mode: 'shared' })
  assert.equal(reader.share, Infinity)
  const readers = { mode: 'shared' } as const
  await using another = await leases.tryAcquire(name('f'), readers)
  assert.equal(another?.share, Infinity)
  assert.equal((await leases.tryWithLease(name('f'), () => 'read', readers)).ran, true)
  assert.equal(await leases.lead(name('f'), () => 'led', readers), 'led')
  const group = await leases.withLease([name('g'), name('h')], ({ leases }) => leases.length, { wait: '1s' })
  assert.equal(group, 2)
  assert.deepEqual(await leases.tryWithLease(name('g'), () => 'result', all), { ran: true, result: 'result' })
  stop()
  assert(events.some(({ type }) => type === 'acquired'))
}

async function handedOver(store: LeaseStore): Promise<void> {
  const name = (resource: string) => `${unique}:ticket:${resource}`
  await using leases = createLeases(store)
  await using lease = await leases.acquire(name('a'))
  // A Web Lock ends with its page.
  if (lease.expiresAt === null) return
  const ticket = await lease.detach()
  await using other = createLeases(store)
  await using adopted = await other.adopt(JSON.parse(JSON.stringify(ticket)))
  assert.equal(adopted.token, ticket.token)
  const again = await adopted.detach()
  const { signal } = new AbortController()
  const options = { ttl: '1m', heartbeat: '5s', retry: () => null, signal } as const
  await using third = await other.adopt(again, options)
  assert.equal(await leases.release(name('a'), { token: third.token }), true)
}

/** One waits in the queue, is seen there if the store shows its queue, and is woken. */
async function waitedFor(store: LeaseStore): Promise<void> {
  const name = `${unique}:waiting`
  await using leases = createLeases(store)
  const first = await leases.acquire(name)
  const { promise: waits, resolve } = Promise.withResolvers<void>()
  await using other = createLeases(store, { onEvent: ({ type }) => type === 'waiting' && resolve() })
  const second = other.acquire(name)
  await waits
  await showsQueue(leases, name)
  await first.release()
  await (await second).release()
}

async function showsQueue(leases: Leases, name: string): Promise<void> {
  try {
    assert.equal((await leases.waiting(name)).length, 1)
  } catch (error) {
    if (!LeaseError.is(error, 'invalid-argument')) throw error
  }
}

async function watched(store: LeaseStore): Promise<void> {
  const name = `${unique}:watched`
  await using leases = createLeases(store)
  const { promise: granted, resolve } = Promise.withResolvers<void>()
  await using watch = await leases.watch({ prefix: name }, ({ type }) => type === 'granted' && resolve())
  await using lease = await leases.acquire(name)
  await granted
  assert.equal(watch.live[0]?.token, lease.token)
  await watch.close()
}

/** What the core exports besides `createLeases`. */
function clockAndErrors(): void {
  assert(systemClock.now() > 0 && systemClock.monotonic() > 0 && systemClock.random() < 1)
  systemClock.setTimer(() => {}, 1000)()
  assert.equal(parseDuration('1.5s'), 1500)
  const cause = new Error('the cause')
  const error = new LeaseError('lease-held', 'held', { cause, resource: 'a', holders: [] })
  assert.equal(error.code, 'lease-held')
  assert.equal(new LeaseError('closed', 'it is closed').message, 'it is closed')
  assert.equal(error.cause, cause)
  assert.equal(new LeaseError('lease-lost', 'lost', { reason: 'ended' }).reason, 'ended')
}
