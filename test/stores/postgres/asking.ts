import type { Ask, LeaseRecord, LeaseStore } from '../../../src/core/index.ts'

export function asking(resource: string, more: Partial<Ask> = {}): Ask {
  return { resource, id: crypto.randomUUID(), owner: 'Mika', ttl: 30_000, ...more }
}

export async function grab(
  store: LeaseStore,
  resource: string,
  more: Partial<Ask> = {},
): Promise<LeaseRecord> {
  const answer = await store.acquire(asking(resource, more))
  if (!answer.granted) throw new Error(`${resource} is held`)
  return answer.lease
}
