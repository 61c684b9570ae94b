import { type Grant, LeaseError } from '../../core/index.ts'
import { HANG_MS, LONG_MS } from '../options.ts'
import { asking, type Case, checkHeldBy, grab, grabSoon, refused, type StoreUnderTest } from './case.ts'
import { check, checkEqual, checkRejects } from './check.ts'

export const failureCases: readonly Case[] = [
  {
    title: 'fails with a retryable LeaseError while the backend is out, and recovers',
    needs: ['outage'],
    async run(under) {
      const { store } = under
      const { id, token } = await grab(store, 'out')
      const mend = await under.outage()
      for (const [what, call] of [
        ['acquire', () => store.acquire(asking('other'))],
        ['renew', () => store.renew({ resource: 'out', id, ttl: LONG_MS })],
      ] as const) {
        const error = await checkRejects(call(), what)
        check(error instanceof LeaseError, `${what} rejects with a LeaseError, got ${error}`)
        checkEqual(
          [error.code, error.retryable],
          ['store-unavailable', true],
          `the code of ${what}, and whether a retry may help`,
        )
      }
      // A backend that cannot write may still read.
      const failure = await store.read(['out']).catch((error: unknown) => error)
      if (failure instanceof Error)
        check(
          failure instanceof LeaseError && failure.retryable,
          `read rejects with a retryable LeaseError, got ${failure}`,
        )
      await mend()
      const next = await recovered(under)
      check(next.lease.token > 0, `it grants again, got the token ${next.lease.token}`)
      const [[still] = []] = await store.read(['out'])
      checkEqual(still?.token, token, 'the token of the lease from before the outage')
    },
  },
  {
    title: 'answers a caller that gave up, if at all, as aborted',
    async run({ store }) {
      const signal = AbortSignal.abort('enough')
      const failure = await store.acquire(asking('aborted'), { signal }).then(
        () => null,
        (error: unknown) => ({ error }),
      )
      if (!failure) return
      const { error } = failure
      check(
        error instanceof LeaseError && error.code === 'aborted',
        `it rejects with a LeaseError with the code aborted, got ${error}`,
      )
      checkEqual(error.cause, 'enough', "the cause, which is the signal's reason")
    },
  },
  {
    title: 'keeps leases through a restart',
    // Without expiry a lease ends with its holder.
    needs: ['reopen', 'expiry'],
    async run({ store, reopen }) {
      const lease = await grab(store, 'outlives')
      await store.close()
      const later = await reopen()
      await checkHeldBy(later, 'outlives', [lease], 'the live leases after the store was closed')
      await refused(later, 'outlives', 'a newcomer after a restart')
      await later.close()
    },
  },
  {
    title: 'refuses every call after close, and may be closed again',
    async run({ store }) {
      await store.close()
      for (const [what, call] of [
        ['acquire', () => store.acquire(asking('closed'))],
        ['renew', () => store.renew({ resource: 'closed', id: 'x', ttl: LONG_MS })],
        ['release', () => store.release({ resource: 'closed', id: 'x' })],
        ['read', () => store.read(['closed'])],
        ['sweep', () => store.sweep({ limit: 1 })],
        ['watch', () => store.watch(() => {})],
      ] as const) {
        const error = await checkRejects(call(), what)
        check(
          error instanceof LeaseError && error.code === 'closed',
          `${what} rejects as closed, got ${error}`,
        )
      }
      await store[Symbol.asyncDispose]()
    },
  },
]

/** A backend that is back may still be out for the store: it takes its client a while to connect again. */
async function recovered(under: StoreUnderTest): Promise<Grant> {
  const until = performance.now() + HANG_MS + 20 * under.ttl
  for (;;) {
    try {
      return await grabSoon(under, under.store, 'recovered')
    } catch (error) {
      const isOut = error instanceof LeaseError && error.code === 'store-unavailable'
      if (!isOut || performance.now() > until) throw error
      await under.pass(under.ttl / 8)
    }
  }
}
