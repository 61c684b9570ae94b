import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import { createLeases, type HoldingStore, type LeaseError, type LeaseStore, type Leases } from './index.ts'

/** A store in memory that can do less. */
function lesser(supports: Partial<LeaseStore['supports']>, changes: Partial<LeaseStore> = {}): LeaseStore {
  const memory = memoryStore()
  return { ...memory, kind: 'lesser', supports: { ...memory.supports, ...supports }, ...changes }
}

const refusals: readonly (readonly [message: string, call: (leases: Leases) => Promise<unknown>])[] = [
  ['resource: expected 1 to 512 bytes', (leases) => leases.holders(5 as never)],
  ['resource: expected 1 to 512 bytes', (leases) => leases.waiting(5 as never)],
  ['resource: expected 1 to 512 bytes', (leases) => leases.release(5 as never, { token: 1 })],
  ['token: expected a whole number from 0, got -1', (leases) => leases.release('r', { token: -1 })],
  [
    'token: expected a whole number from 0, got "1"',
    (leases) => leases.release('r', { token: '1' as never }),
  ],
  ['limit: expected a whole number from 1, got 0', (leases) => leases.list({ limit: 0 })],
  ['work: expected a function, got 5', (leases) => leases.lead('r', 5 as never)],
  ['work: expected a function, got 5', (leases) => leases.tryWithLease('r', 5 as never)],
]

it.each(refusals)('a wrong argument is refused: %s', async (message, call) => {
  const error = await call(createLeases(memoryStore())).catch((cause: LeaseError) => cause)
  expect(error).toMatchObject({ code: 'invalid-argument', message: expect.stringContaining(message) })
})

it.each([0, 1])(
  'a release by the token %d is answered, and ends no lease with another token',
  async (token) => {
    const leases = createLeases(memoryStore())
    const lease = await leases.acquire('r')
    expect(await leases.release('r', { token })).toBe(false)
    expect(lease.held).toBe(true)
  },
)

it.each([{ share: 2 }, { atLeast: 1000 }, { lockDelay: 1000 }])(
  'a store without shares refuses %j, also for several names, and grants without it',
  async (options) => {
    const asked: string[] = []
    const acquireAll = async () => {
      asked.push('all')
      return null
    }
    const store = lesser({ share: false }, { acquireAll })
    const leases = createLeases(store)
    const message = expect.stringMatching(
      /^share: expected no share, atLeast or lockDelay: the lesser store has none/,
    )
    await expect(leases.acquire('r', options)).rejects.toMatchObject({ code: 'invalid-argument', message })
    await expect(leases.acquireAll(['a', 'b'], options)).rejects.toMatchObject({
      code: 'invalid-argument',
      message,
    })
    expect(asked).toEqual([])
    expect((await leases.acquire('r')).held).toBe(true)
    await leases.acquireAll(['a', 'b'])
    expect(asked).toEqual(['all'])
  },
)

it('a store that cannot push cannot be watched, and says so', async () => {
  const leases = createLeases(lesser({ push: false }))
  await expect(leases.watch({}, () => {})).rejects.toMatchObject({
    code: 'invalid-argument',
    message: 'store: expected a LeaseStore with the looking half that pushes changes, got "lesser"',
  })
})

it('a store with only the holding half lists nothing, and says what is missing', async () => {
  const { kind, supports, acquire, renew, release, close } = memoryStore()
  const holding: HoldingStore = { kind, supports, acquire, renew, release, close }
  await expect(createLeases(holding).list()).rejects.toMatchObject({
    code: 'invalid-argument',
    message: expect.stringMatching(/^store: expected a LeaseStore \(with list\)/),
  })
})

it('an aborted wait has the reason of its signal as cause', async () => {
  const leases = createLeases(memoryStore())
  await leases.acquire('r')
  const controller = new AbortController()
  const waiting = leases.acquire('r', { signal: controller.signal })
  controller.abort('enough')
  await expect(waiting).rejects.toMatchObject({
    code: 'aborted',
    message: 'the wait was aborted',
    cause: 'enough',
  })
})

it('a closed manager refuses with its name', async () => {
  const leases = createLeases(memoryStore())
  await leases.close()
  await expect(leases.acquire('r')).rejects.toMatchObject({
    code: 'closed',
    message: 'the manager was closed',
  })
})

it('a released lease cannot be renewed, and names its resource', async () => {
  const lease = await createLeases(memoryStore()).acquire('r')
  await lease.release()
  await expect(lease.renew()).rejects.toMatchObject({
    code: 'lease-lost',
    message: 'r was released',
    resource: 'r',
  })
})

it('a refusal counts the holders, and says if one of them is this process', async () => {
  const store = memoryStore()
  const [mine, others] = [createLeases(store), createLeases(store, { owner: 'Mika' })]
  const refusal = (resource: string) => mine.acquire(resource, { wait: 0 }).catch(({ message }) => message)
  await store.acquire({ resource: 'one', id: 'elsewhere', owner: 'Ren', ttl: 60_000 })
  expect(await refusal('one')).toBe('one is held by Ren')
  for (const [id, owner] of [
    ['x', 'Ren'],
    ['y', 'Aoi'],
    ['z', 'Ken'],
  ] as const)
    await store.acquire({ resource: 'many', id, owner, ttl: 60_000, share: 5 })
  expect(await refusal('many')).toBe('many is held by Ren and 2 more')
  await others.acquire('many', { share: 5 })
  expect(await refusal('many')).toMatch(/^many is held by this process, since .+: release it first$/)
})

it('a refusal without a holder says that the resource is reserved or kept', async () => {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const leases = createLeases(store, { clock })
  await store.acquire({ resource: 'r', id: 'a', owner: 'Mika', ttl: 60_000 })
  await store.acquire({ resource: 'r', id: 'b', owner: 'Ren', ttl: 60_000, wake() {} })
  await store.release({ resource: 'r', id: 'a' })
  await expect(leases.acquire('r', { wait: 0 })).rejects.toMatchObject({
    message: 'r is reserved for another waiter',
  })
  const kept = await leases.acquire('k', { atLeast: 5000 })
  await kept.release()
  await expect(leases.acquire('k', { wait: 0 })).rejects.toMatchObject({
    message: expect.stringMatching(/^k is kept for another \d+ ms \(atLeast or lockDelay\)$/),
  })
})

it('a ticket is refused with what was expected', async () => {
  const leases = createLeases(memoryStore())
  const ticket = await (await leases.acquire('r')).detach()
  for (const wrong of [
    null,
    { ...ticket, type: 'other' },
    { ...ticket, store: 'redis' },
    { ...ticket, token: 1.5 },
  ])
    await expect(leases.adopt(wrong as never)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(
        /^ticket: expected what detach\(\) returned for a lease of a memory store, got/,
      ),
    })
  await leases.release('r', { token: ticket.token })
  await expect(leases.adopt(ticket)).rejects.toMatchObject({
    code: 'lease-lost',
    message: 'the lease of r ended before it was adopted',
    resource: 'r',
  })
})

it('a lease that ends with its page cannot be detached', async () => {
  const memory = memoryStore()
  const endless: LeaseStore = {
    ...memory,
    async acquire(ask, call) {
      const answer = await memory.acquire(ask, call)
      return answer.granted
        ? { ...answer, lease: { ...answer.lease, expiresAt: null, remaining: null } }
        : answer
    },
  }
  const lease = await createLeases(endless).acquire('r')
  await expect(lease.detach()).rejects.toMatchObject({
    code: 'store-failed',
    message: 'r cannot be detached: it ends with this page',
    resource: 'r',
  })
  expect(lease.held).toBe(true)
})

it('a lease that is released while it is detached makes no ticket', async () => {
  const memory = memoryStore()
  const [asked, renewing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: LeaseStore = {
    ...memory,
    async renew(ask, call) {
      asked.resolve()
      const answer = await memory.renew(ask, call)
      await renewing.promise
      return answer
    },
  }
  const lease = await createLeases(slow).acquire('r')
  const detaching = lease.detach()
  await asked.promise
  await lease.release()
  renewing.resolve()
  await expect(detaching).rejects.toMatchObject({
    code: 'lease-lost',
    message: 'r was released or detached meanwhile',
    resource: 'r',
  })
})

it('a detached lease outlives its process, and an adopted one does not', async () => {
  const memory = memoryStore()
  const asked: unknown[] = []
  const store: LeaseStore = {
    ...memory,
    renew(ask, call) {
      asked.push(ask.endsWithProcess)
      return memory.renew(ask, call)
    },
  }
  const leases = createLeases(store)
  const ticket = await (await leases.acquire('r')).detach()
  await leases.adopt(ticket)
  expect(asked).toEqual([false, true])
})
