import { type Grant, LeaseError } from '../../core/index.ts'
import { HANG_MS } from '../runner.ts'
import { asking, type Case, grab, grabSoon, LONG_MS, type StoreUnderTest } from './case.ts'
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
        checkEqual([error.code, error.retryable], ['store-unavailable', true], what)
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
      check(next.lease.token > 0, 'it grants again')
      const [[still] = []] = await store.read(['out'])
      checkEqual(still?.token, token, 'the lease from before')
    },
  },
  {
    title: 'answers a caller that gave up, if at all, as aborted',
    async run({ store }) {
      const signal = AbortSignal.abort('enough')
      const outcome = await store.acquire(asking('aborted'), { signal }).catch((error: unknown) => error)
      if (!(outcome instanceof Error)) return
      check(outcome instanceof LeaseError && outcome.code === 'aborted', `it is aborted, got ${outcome}`)
      checkEqual(outcome.cause, 'enough', 'the cause')
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
  const until = performance.now() + HANG_MS
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
