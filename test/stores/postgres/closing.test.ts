import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLeases, type LeaseError } from '../../../src/core/index.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
beforeEach(async () => {
  bed = await makeBed(url)
})
afterEach(() => bed[Symbol.asyncDispose]())

/** A pool whose acquire requests are on their way until they may arrive, while releases take another connection. */
function slowPool() {
  const pool = bed.pool({ max: 2 })
  const query = pool.query.bind(pool) as (request: { readonly text: string }) => Promise<unknown>
  const mayArrive = Promise.withResolvers<void>()
  const isReleased = Promise.withResolvers<void>()
  const slowQuery = async (request: { readonly text: string }) => {
    if (/^select \S+_acquire"\(/.test(request.text)) await mayArrive.promise
    const answer = await query(request)
    if (/^select \S+_release"\(/.test(request.text)) isReleased.resolve()
    return answer
  }
  return { pool: Object.assign(pool, { query: slowQuery }), mayArrive, isReleased }
}

describe('a shutdown while an acquire request is on its way', () => {
  it('a shutdown while an acquire request is on its way leaves no lease, though the release overtakes the request', async () => {
    const { pool, mayArrive, isReleased } = slowPool()
    const store = bed.storeOn(pool)
    const leases = createLeases(store)
    const acquiring = leases.acquire('r').catch((error: LeaseError) => error.code)
    await store.read(['r'])
    const closing = [leases.close(), store.close()]
    expect(await acquiring).toBe('closed')
    await isReleased.promise
    mayArrive.resolve()
    await Promise.all(closing)
    expect(await bed.storeOn(bed.pool()).read(['r'])).toEqual([[]])
  })
})
