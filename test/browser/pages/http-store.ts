/** A store at a Holdfast server of another origin, inside a page. */
import { httpStore } from '../../../src/client/http-store.ts'
import { createLeases } from '../../../src/core/index.ts'

export const scenarios = {
  /** Two managers want one resource, so the second one waits for a push. */
  async handOver(url: string, token: string) {
    const stores = [httpStore(url, { token }), httpStore(url, { token })] as const
    const [first, second] = [createLeases(stores[0]), createLeases(stores[1])]
    const lease = await first.acquire('page')
    const waiting = second.acquire('page', { wait: '1m' })
    await lease.release()
    const next = await waiting
    await next.release()
    await Promise.all(stores.map((store) => store.close()))
    return {
      isSecure: isSecureContext,
      hasRandomUuid: 'randomUUID' in crypto,
      rises: next.token > lease.token,
    }
  },
}

Object.assign(globalThis, { scenarios })
