import type { Ask, LeaseStore } from '../../src/core/index.ts'

/** Asks for the resource `r`. */
export function ask(store: LeaseStore, id: string, more: Partial<Ask> = {}) {
  return store.acquire({ resource: 'r', id, owner: id, ttl: 60_000, ...more })
}

export async function grab(store: LeaseStore, id: string, more?: Partial<Ask>) {
  const answer = await ask(store, id, more)
  if (!answer.granted) throw new Error(`${id} was refused`)
  return answer.lease
}
