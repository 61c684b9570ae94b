import assert from 'node:assert/strict'
import { LeaseError, type LeaseStore } from 'holdfast'
import { unique } from './backend.ts'

/** The methods of a store, called without `createLeases`, as docs/stores/your-own.md lists them. */
export async function storeCase(open: () => LeaseStore | Promise<LeaseStore>): Promise<void> {
  await using store = await open()
  const call = { signal: new AbortController().signal, timeout: 30_000, limited: false, queued: () => {} }
  for (const options of [undefined, call]) {
    const resource = `${unique}:store:${options ? 'options' : 'defaults'}`
    const { promise: seen, resolve } = Promise.withResolvers<void>()
    await using _ = options
      ? await store.watch(() => resolve(), { prefix: resource })
      : await store.watch(() => resolve())
    const ask = { resource, id: crypto.randomUUID(), owner: 'surface', ttl: 60_000 }
    const answer = await store.acquire(ask, options)
    assert(answer.granted)
    await seen
    const renewal = { resource, id: ask.id, ttl: 60_000 }
    const renewed = await store.renew(options ? { ...renewal, endsWithProcess: false } : renewal, options)
    assert(renewed.ok)
    const [[read] = []] = await store.read([resource], options)
    assert.equal(read?.token, answer.lease.token)
    const page = await store.list({ prefix: resource, limit: 10, after: '' }, options)
    assert.equal(page.leases.length, 1)
    await store.waiting?.({ resources: [resource], limit: 10 }, options)
    await store.check?.(options)
    await store.sweep({ limit: 10 }, options)
    const by = options ? { resource, token: answer.lease.token } : { resource, id: ask.id }
    assert((await store.release(by, options)).ended)
    if (!store.acquireAll) continue
    const asks = ['b', 'c'].map((name) => ({
      ...ask,
      resource: `${resource}:${name}`,
      id: crypto.randomUUID(),
    }))
    const grants = await store.acquireAll(asks, options)
    assert.equal(grants?.length, 2)
    for (const { resource, id } of asks) assert((await store.release({ resource, id }, options)).ended)
  }
  assert(store.explain === undefined || store.explain(new LeaseError('closed', 'closed')) instanceof Error)
  await store.close()
}
