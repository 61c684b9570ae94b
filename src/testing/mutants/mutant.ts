import type { LeaseStore } from '../../core/index.ts'

export interface Mutant {
  /** The title of a case that notices the mistake. */
  readonly caughtBy: string
  readonly mutate: (store: LeaseStore) => Partial<LeaseStore>
}

/** The time of the store, in milliseconds: that of a new lease. */
export async function timeOf(store: LeaseStore): Promise<number> {
  const id = crypto.randomUUID()
  const answer = await store.acquire({ resource: `time ${id}`, id, owner: 'time', ttl: 10_000 })
  if (!answer.granted) throw new Error('a resource that nobody knows was refused')
  await store.release({ resource: `time ${id}`, id })
  return answer.lease.acquiredAt
}

/** Checks each, and keeps their names. */
export function mutants<Name extends string>(all: Readonly<Record<Name, Mutant>>): typeof all {
  return all
}
