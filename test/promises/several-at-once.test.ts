import { describe, expect, it, vi } from 'vitest'
import { createLeases, LeaseError } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { settled } from '../../src/testing/fake-clock.ts'
import { setUp } from './set-up.ts'

describe('several leases at once', () => {
  it('several leases at once are held together, in the order of the call, and released together', async () => {
    const { leases, store, events } = setUp()
    {
      await using group = await leases.acquireAll(['b', 'a', 'c'])
      expect(group.leases.map(({ resource }) => resource)).toEqual(['b', 'a', 'c'])
      expect([group.held, group.signal.aborted]).toEqual([true, false])
    }
    expect(await store.read(['a', 'b', 'c'])).toEqual([[], [], []])
    const acquired = events.filter(({ type }) => type === 'acquired').map(({ resource }) => resource)
    expect(acquired).toEqual(['a', 'b', 'c'])
  })

  it.each([undefined, 0, 10, '30s', Infinity] as const)(
    'are granted on the clock of this machine with the wait %s',
    async (wait) => {
      await using leases = createLeases(memoryStore())
      await using group = await leases.acquireAll(['a', 'b', 'c'], { wait })
      expect(group.held).toBe(true)
    },
  )

  it.each(['a', 'b'])(
    'several leases at once are all released before the release of one that fails rejects: %s',
    async (broken) => {
      const memory = memoryStore()
      const slow = Promise.withResolvers<void>()
      const leases = createLeases({
        ...memory,
        async release(by) {
          if (by.resource === broken) throw new LeaseError('store-failed', 'broken')
          await slow.promise
          return memory.release(by)
        },
      })
      const group = await leases.acquireAll(['a', 'b'])
      const ended = vi.fn()
      const releasing = group.release().catch(ended)
      await settled()
      expect(ended).not.toHaveBeenCalled()
      slow.resolve()
      await releasing
      expect(ended.mock.calls).toMatchObject([[{ message: 'broken' }]])
      expect((await memory.read(['a', 'b'])).flat().map(({ resource }) => resource)).toEqual([broken])
    },
  )

  it('several leases at once never make two callers wait for each other', async () => {
    const { clock, leases, another } = setUp()
    const done: string[] = []
    const both = (manager: typeof leases, name: string, resources: string[]) =>
      manager.acquireAll(resources, { wait: 60_000 }).then(async (group) => {
        await clock.advance(1)
        done.push(name)
        await group.release()
      })
    const working = [both(leases, 'first', ['a', 'b']), both(another(), 'second', ['b', 'a'])]
    await clock.advance(10_000)
    await Promise.all(working)
    expect(done.toSorted()).toEqual(['first', 'second'])
  })

  it('several leases at once are none if one of them cannot be had, and the wait covers the whole call', async () => {
    const { clock, leases, store, another } = setUp()
    const [first, last] = [await another().acquire('a'), await another().acquire('b', { ttl: '1h' })]
    const started = clock.monotonic()
    const failing = leases
      .acquireAll(['a', 'b'], { wait: 4000 })
      .catch((error) => ({ error, after: clock.monotonic() - started }))
    await clock.advance(3000)
    await first.release()
    await clock.advance(3000)
    const after = expect.closeTo(4000, 0)
    expect(await failing).toMatchObject({ error: { code: 'lease-held', resource: 'b' }, after })
    expect(await store.read(['a', 'b'])).toMatchObject([[], [{ id: last.id }]])
  })

  it('several leases at once are given up when one is lost while the caller waits for another', async () => {
    const { clock, leases, store, another } = setUp()
    const last = await another().acquire('b', { ttl: '1h' })
    const failing = leases.acquireAll(['a', 'b'], { wait: Infinity }).catch((error) => error)
    await clock.advance(10)
    const [[held] = []] = await store.read(['a'])
    await store.release({ resource: 'a', token: held?.token ?? 0 })
    await clock.advance(10)
    expect(await failing).toMatchObject({ code: 'lease-lost', resource: 'a' })
    await last.release()
    expect(await store.read(['a', 'b'])).toEqual([[], []])
  })

  it('several leases at once tell the first loss, and then are not held', async () => {
    const { clock, leases, store } = setUp()
    const group = await leases.acquireAll(['a', 'b'])
    const [, b] = group.leases
    await store.release({ resource: 'b', token: b?.token ?? 0 })
    await clock.advance(10)
    expect(group.held).toBe(false)
    expect(group.signal.reason).toMatchObject({ code: 'lease-lost', resource: 'b' })
    await group.release()
    expect(await store.read(['a', 'b'])).toEqual([[], []])
  })

  it('several leases at once are given up when the signal aborts', async () => {
    const { clock, leases, store, another } = setUp()
    await another().acquire('b', { ttl: '1h' })
    const stop = new AbortController()
    const failing = leases
      .acquireAll(['a', 'b'], { wait: Infinity, signal: stop.signal })
      .catch((error) => error)
    await clock.advance(10)
    stop.abort('enough')
    await clock.advance(10)
    expect(await failing).toMatchObject({ code: 'aborted', cause: 'enough' })
    expect(await store.read(['a'])).toEqual([[]])
  })

  it.each([
    [[], 'resources: expected an array of at least one name, got an array'],
    ['a', 'resources: expected an array of at least one name, got "a"'],
    [['a', 7], 'resources[1]: expected 1 to 512 bytes'],
    [['a', 'b', 'a'], 'resources: expected names that differ, got "a"'],
  ])('several leases at once need names that differ: %j', async (resources, message) => {
    const { leases } = setUp()
    await expect(leases.acquireAll(resources as string[])).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(message),
    })
  })
})
