/**
 * Values that are written and removed by many, each under a key: entities of a sync, a document, the current save. A
 * write that was acknowledged is lost only to a later write or removal, and what was removed does not come back.
 */

export interface RegisterOperation {
  /** `patch`: changes a part of the value, and decides nothing about its presence. */
  readonly kind: 'set' | 'patch' | 'remove' | 'reset'
  /** `undefined`: all keys. */
  readonly id: string | undefined
  /** The value that a set wrote. It is unique. */
  readonly n: number
  readonly start: number
  /** `Infinity` until the operation is known to have ended. */
  end: number
}

/** Compares the end of a run, when nothing is under way any more, with what was written. */
export function registerViolations(
  history: readonly RegisterOperation[],
  stored: ReadonlyMap<string, number>,
): string[] {
  const ids = new Set(history.flatMap(({ id }) => id ?? []))
  return [...ids].flatMap((id) => violationsOf(id, history, stored.get(id)))
}

function violationsOf(id: string, history: readonly RegisterOperation[], n: number | undefined): string[] {
  const sets = history.filter((operation) => operation.kind === 'set' && operation.id === id)
  const removals = history.filter(
    ({ kind, id: removed }) => kind === 'reset' || (kind === 'remove' && removed === id),
  )
  const after = (one: RegisterOperation, other: RegisterOperation) => other.end < one.start
  const last = sets.find((set) => set.end < Infinity && removals.every((removal) => after(set, removal)))
  const gone = removals.find((removal) => removal.end < Infinity && sets.every((set) => after(removal, set)))
  const writer = sets.find((set) => set.n === n)
  const newer = writer && sets.find((set) => set.end < Infinity && after(set, writer))
  return [
    ...(last && n === undefined ? [`${id} was set (${last.n}) after all removals, and is lost`] : []),
    ...(gone && n !== undefined ? [`${id} was removed after all sets, and is there (${n})`] : []),
    ...(newer ? [`${id} is ${n}, and ${newer.n} was written after it`] : []),
    ...(n !== undefined && !writer && sets.length > 0 ? [`${id} is ${n}, which nobody has written`] : []),
  ]
}

/** Convergence: in the end, everybody shows what is stored. */
export function replicaViolations(
  shown: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
  stored: ReadonlyMap<string, unknown>,
): string[] {
  const expected = text(stored)
  return [...shown].flatMap(([who, map]) =>
    text(map) === expected ? [] : [`${who} shows ${text(map)}, and ${expected} is stored`],
  )
}

/** The same for the same values, whatever the order of their keys is. */
function text(map: ReadonlyMap<string, unknown>): string {
  const sorted = (entries: Iterable<readonly [string, unknown]>) =>
    [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(sorted(map), (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(sorted(Object.entries(value)))
      : value,
  )
}
