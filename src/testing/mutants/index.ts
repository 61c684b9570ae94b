/*
 * Stores with one planted mistake each, to test the suite itself: `describeStore` must fail on every one of them. A
 * mutant that passes shows a rule that nobody checks, or a hook that the harness does not offer.
 */
import { expectOneOf } from '../../base/arguments.ts'
import type { LeaseStore } from '../../core/index.ts'
import { failingMutants } from './failing.ts'
import { holdingMutants } from './holding.ts'
import { lookingMutants } from './looking.ts'
import type { Mutant } from './mutant.ts'
import { queueMutants } from './queue.ts'
import { sharingMutants } from './sharing.ts'
import { timeMutants } from './time.ts'
import { togetherMutants } from './together.ts'

/**
 * Returns the store with the mistake of this name. The store itself stays as it is.
 *
 * @example
 * const broken = mutateStore(memoryStore(), 'token that is the clock alone') // your own suite must fail with it
 */
export function mutateStore(store: LeaseStore, mistake: StoreMistake): LeaseStore {
  expectOneOf('mistake', mistake, Object.keys(MUTANTS))
  const mutant: Mutant = MUTANTS[mistake]
  return { ...methodsOf(store), ...mutant.mutate(store) }
}

/**
 * The mistakes that `mutateStore` knows, and the case of the suite that notices each.
 *
 * @example
 * for (const { mistake, caughtBy } of storeMistakes()) console.log(mistake, caughtBy)
 */
export function storeMistakes(): readonly { readonly mistake: StoreMistake; readonly caughtBy: string }[] {
  return Object.entries(MUTANTS).map(([mistake, { caughtBy }]) => ({
    mistake: mistake as StoreMistake,
    caughtBy,
  }))
}

export type StoreMistake = keyof typeof MUTANTS

const MUTANTS = {
  ...holdingMutants,
  ...timeMutants,
  ...queueMutants,
  ...sharingMutants,
  ...lookingMutants,
  ...failingMutants,
  ...togetherMutants,
}

/** A store may be an object of a class, whose methods are not copied by a spread. */
function methodsOf(store: LeaseStore): LeaseStore {
  return {
    kind: store.kind,
    supports: store.supports,
    acquire: (ask, call) => store.acquire(ask, call),
    ...(store.acquireAll && {
      acquireAll: (asks, call) => (store as Required<LeaseStore>).acquireAll(asks, call),
    }),
    renew: (ask, call) => store.renew(ask, call),
    release: (by, call) => store.release(by, call),
    read: (names, call) => store.read(names, call),
    ...(store.waiting && { waiting: (query, call) => (store as Required<LeaseStore>).waiting(query, call) }),
    list: (query, call) => store.list(query, call),
    sweep: (query, call) => store.sweep(query, call),
    watch: (on, query) => store.watch(on, query),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  }
}
