import { type Answer, type Ask, LeaseError, type LeaseRecord, type LeaseStore } from '../../src/core/index.ts'

export function asking(resource: string, more: Partial<Ask> = {}): Ask {
  return { resource, id: crypto.randomUUID(), owner: 'Mika', ttl: 600_000, ...more }
}

export function granted(answer: Answer): LeaseRecord {
  if (!answer.granted) throw new Error('expected a grant')
  return answer.lease
}

export async function grab(
  store: LeaseStore,
  resource: string,
  more: Partial<Ask> = {},
): Promise<LeaseRecord> {
  return granted(await store.acquire(asking(resource, more)))
}

/** How a call failed. */
export async function failure(call: Promise<unknown>): Promise<LeaseError> {
  const outcome = await call.then(
    (value) => `the answer ${JSON.stringify(value)}`,
    (error: unknown) => error,
  )
  if (outcome instanceof LeaseError) return outcome
  throw new Error(`expected a LeaseError, got ${outcome}`)
}
