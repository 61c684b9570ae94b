import type { DocumentLockState } from '../client/index.ts'

/** Hebrew, Arabic and their neighbours. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
const FIRST_STRONG_ISOLATE = '\u2068'
const POP_DIRECTIONAL_ISOLATE = '\u2069'

/** A name that is written from right to left does not reorder the words and numbers around it. */
export function isolatedName(name: string): string
export function isolatedName(name: string | null): string | null
export function isolatedName(name: string | null): string | null {
  if (name === null || !RIGHT_TO_LEFT.test(name)) return name
  return FIRST_STRONG_ISOLATE + name + POP_DIRECTIONAL_ISOLATE
}

/** The state with such names in all its places. */
export function withIsolatedNames(state: DocumentLockState): DocumentLockState {
  const { holder, waiters, request, passedBy } = state
  return {
    ...state,
    holder: holder && isolated(holder),
    waiters: waiters.map(isolated),
    request: request && isolatedRequest(request),
    passedBy: passedBy && isolatedRequest(passedBy),
  }
}

function isolated<T extends { readonly name: string | null }>(person: T): T {
  return { ...person, name: isolatedName(person.name) }
}

function isolatedRequest<R extends NonNullable<DocumentLockState['request']>>(request: R): R {
  return { ...isolated(request), passes: request.passes.map(isolated) }
}
