/**
 * The scenarios of DistributedLock's suites: locks, reader-writer locks and semaphores whose handles tell of a loss.
 *
 * Different here: a name that a lock cannot have is refused, where DistributedLock hashes it to one that it can. Readers
 * are not upgraded to writers. A try whose signal has already aborted rejects, as DistributedLock's.
 */
import { expect } from 'vitest'
import type { Lease } from '../../src/core/index.ts'
import type { Scenario } from './scenario.ts'

export const distributedLock: readonly Scenario[] = [
  {
    title: 'a lock is not re-entrant, another one is free, and it can be taken again after its release',
    async run({ client, resource }) {
      const locks = await client()
      const handle = await locks.tryAcquire(resource)
      expect(handle?.held).toBe(true)
      expect(await locks.tryAcquire(resource)).toBeNull()
      expect(await locks.tryAcquire(`${resource}:2`)).not.toBeNull()
      await handle?.release()
      expect(await locks.tryAcquire(resource)).not.toBeNull()
    },
  },
  {
    title: 'a second release of a handle does nothing, also not to the next holder',
    async run({ client, resource }) {
      const locks = await client()
      const first = await locks.acquire(resource)
      await first.release()
      const second = await locks.acquire(resource)
      await first.release()
      await first[Symbol.asyncDispose]()
      expect(second.held).toBe(true)
      expect(await locks.inspect(resource)).toMatchObject({ token: second.token })
    },
  },
  {
    title: 'a wait with a limit ends with an error that names the holder, and a try with null',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [locks, others] = [await client({ owner: 'first' }), await client()]
      await locks.acquire(resource)
      await expect(others.acquire(resource, { wait: shortMs })).rejects.toMatchObject({
        code: 'lease-held',
        holder: { owner: 'first' },
      })
      expect(await others.tryAcquire(resource)).toBeNull()
    },
  },
  {
    title: 'a wait that is cancelled ends at once, and the lock goes to others',
    async run({ client, resource }) {
      const [locks, others] = [await client(), await client()]
      const handle = await locks.acquire(resource)
      const cancel = new AbortController()
      const waiting = new Promise<void>((resolve) => {
        others.subscribe(({ type }) => type === 'waiting' && resolve())
      })
      const cancelled = expect(others.acquire(resource, { signal: cancel.signal })).rejects.toMatchObject({
        code: 'aborted',
      })
      await waiting
      cancel.abort()
      await cancelled
      await handle.release()
      expect((await locks.acquire(resource)).held).toBe(true)
    },
  },
  {
    title: 'a signal that has already aborted takes no lock',
    async run({ client, resource }) {
      const locks = await client()
      const signal = AbortSignal.abort()
      await expect(locks.acquire(resource, { signal })).rejects.toMatchObject({ code: 'aborted' })
      await expect(locks.tryAcquire(resource, { signal })).rejects.toMatchObject({ code: 'aborted' })
      expect(await locks.inspect(resource)).toBeNull()
    },
  },
  {
    title: 'forty tasks get the lock one after the other',
    async run({ client, resource }) {
      const managers = await Promise.all([client(), client(), client(), client()])
      let inside = 0
      const seen = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          managers[n % managers.length]?.withLease(resource, async () => {
            const together = ++inside
            await new Promise((resolve) => setTimeout(resolve, 2))
            inside--
            return together
          }),
        ),
      )
      expect(new Set(seen)).toEqual(new Set([1]))
    },
  },
  {
    title: 'names differ by case, and may have unusual characters',
    async run({ client, resource }) {
      const locks = await client()
      const long = `${resource}${'a'.repeat(400)}`
      const names = ['a', 'A', '\\\\\\', '../x', '%00', "'; --", '{b}', ' ', 'ä', '名前', '🔒'].map(
        (end) => `${resource}:${end}`,
      )
      const handles: (Lease | null)[] = []
      for (const name of [...names, long, `${long}A`]) handles.push(await locks.tryAcquire(name))
      expect(handles.every((handle) => handle?.held)).toBe(true)
    },
  },
  {
    title: 'wrong times, and names that no lock can have, are refused before anything is sent',
    async run({ client, resource }) {
      const locks = await client()
      for (const wait of [-2, Number.NaN, '2 seconds' as never])
        await expect(locks.acquire(resource, { wait })).rejects.toMatchObject({ code: 'invalid-argument' })
      for (const name of ['', 'a'.repeat(1000), null as never])
        await expect(locks.acquire(name)).rejects.toMatchObject({ code: 'invalid-argument' })
    },
  },
  {
    title: 'a handle tells of its loss once, and at once if it was lost before somebody asked',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [locks, others] = [await client({ ttl: 4 * shortMs, heartbeat: shortMs }), await client()]
      const handle = await locks.acquire(resource)
      expect(handle.signal.aborted).toBe(false)
      const lost = new Promise((resolve) => handle.onLost(resolve))
      await others.release(resource, { token: handle.token })
      expect(await lost).toMatchObject({ code: 'lease-lost' })
      expect([handle.signal.aborted, handle.held]).toEqual([true, false])
      const told: unknown[] = []
      handle.onLost((error) => told.push(error))
      expect(told).toEqual([await lost])
    },
  },
  {
    title: 'readers share, and a writer gets in when the last of them has gone',
    async run({ client, resource }) {
      const [locks, others] = [await client(), await client()]
      const readers = [
        await locks.acquire(resource, { mode: 'shared' }),
        await others.acquire(resource, { mode: 'shared' }),
      ]
      expect(await others.tryAcquire(resource)).toBeNull()
      const writer = others.acquire(resource)
      await readers[0]?.release()
      expect(await locks.tryAcquire(resource)).toBeNull()
      await readers[1]?.release()
      const handle = await writer
      expect(await locks.tryAcquire(resource, { mode: 'shared' })).toBeNull()
      await handle.release()
      expect(await locks.tryAcquire(resource)).not.toBeNull()
    },
  },
  {
    title: 'no reader passes a writer that waits',
    needs: 'queue',
    async run({ client, resource }) {
      const [locks, others] = [await client(), await client()]
      const reader = await locks.acquire(resource, { mode: 'shared' })
      const queued = new Promise<void>((resolve) => {
        others.subscribe((event) => event.type === 'waiting' && event.place !== null && resolve())
      })
      const writer = others.acquire(resource)
      await queued
      expect(await locks.tryAcquire(resource, { mode: 'shared' })).toBeNull()
      await reader.release()
      expect((await writer).held).toBe(true)
    },
  },
  {
    title: 'a semaphore of three has at most three holders, and comes to three',
    async run({ client, resource }) {
      const managers = await Promise.all([client(), client()])
      let inside = 0
      const seen = new Set<number>()
      const third = Promise.withResolvers<void>()
      await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          managers[n % 2]?.withLease(
            resource,
            async () => {
              seen.add(++inside)
              // The first ones stay until there are three.
              if (inside === 3) third.resolve()
              await third.promise
              inside--
            },
            { share: 3 },
          ),
        ),
      )
      expect(seen).toEqual(new Set([1, 2, 3]))
    },
  },
  {
    title: 'a semaphore that is drained gives the next permit after a release',
    async run({ client, resource }) {
      const [locks, others] = [await client(), await client()]
      const handles = [await locks.acquire(resource, { share: 4 })]
      await (await others.acquire(resource, { share: 4 })).release()
      while (handles.length < 4) handles.push(await locks.acquire(resource, { share: 4 }))
      expect(await locks.tryAcquire(resource, { share: 4 })).toBeNull()
      expect(await others.tryAcquire(resource, { share: 4 })).toBeNull()
      await handles[0]?.release()
      expect((await others.acquire(resource, { share: 4 })).held).toBe(true)
    },
  },
  {
    title: 'a semaphore without a limit gives fifty permits',
    async run({ client, resource }) {
      const locks = await client()
      const handles: Lease[] = []
      while (handles.length < 50) handles.push(await locks.acquire(resource, { share: Infinity }))
      expect(handles.every(({ held }) => held)).toBe(true)
      expect(new Set(handles.map(({ token }) => token)).size).toBe(50)
    },
  },
]
