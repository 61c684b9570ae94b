/** A child process with some waiters for one resource. The first member holds the resource until all of them wait. */
import { createLeases, type ManagedStore } from '../../src/core/index.ts'
import { now } from '../contention/rival.ts'
import { openStore } from './open-store.ts'

export interface Orders {
  readonly address: string
  readonly waiters: number
  readonly holds: boolean
}

export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'waiting'; readonly ms: number; readonly bytes: number }
  /** When each lease was granted, and when its release was called; and the calls to the store. */
  | { readonly type: 'done'; readonly turns: readonly (readonly [number, number])[]; readonly calls: number }

const TTL_MS = 600_000

process.once('message', async ({ address, waiters, holds }: Orders) => {
  const report = (message: Report) => new Promise((sent) => process.send?.(message, sent))
  const next = () => new Promise((resolve) => process.once('message', resolve))
  const { store, close } = await openStore(address)
  let calls = 0
  const counted: ManagedStore = {
    kind: store.kind,
    supports: store.supports,
    acquire: (ask, call) => {
      calls++
      return store.acquire(ask, call)
    },
    renew: (ask, call) => {
      calls++
      return store.renew(ask, call)
    },
    release: (by, call) => {
      calls++
      return store.release(by, call)
    },
    watch: (on, query) => store.watch(on, query),
    close,
  }
  const waiting = Promise.withResolvers<void>()
  let standing = 0
  const leases = createLeases(counted, {
    ttl: TTL_MS,
    onEvent: (event) => {
      if (event.type === 'waiting' && event.reason === 'held' && ++standing === waiters) waiting.resolve()
    },
  })
  const held = holds ? await leases.acquire('contended') : undefined
  void report({ type: 'ready' })
  await next()

  globalThis.gc?.()
  calls = 0
  const before = process.memoryUsage().rss
  const start = now()
  const turns = Promise.all(
    Array.from({ length: waiters }, async () => {
      const lease = await leases.acquire('contended', { wait: Infinity })
      const granted = now()
      const released = lease.release()
      return [granted, now(), await released] as const
    }),
  )
  await waiting.promise
  void report({ type: 'waiting', ms: now() - start, bytes: process.memoryUsage().rss - before })
  await next()

  await held?.release()
  await report({
    type: 'done',
    turns: (await turns).map(([granted, released]) => [granted, released]),
    calls,
  })
  await leases.close()
  await close()
  process.disconnect()
})
