/** The operations of all contexts with their times, and the rules that the storage must satisfy at the end. */

export interface Operation {
  readonly kind: 'set' | 'patch' | 'remove' | 'reset'
  /** `undefined`: all entities. */
  readonly id: string | undefined
  /** The value that a set wrote. It is unique. */
  readonly n: number
  readonly start: number
  /** `Infinity` until the operation is known to have ended. */
  end: number
}

export function violations(history: readonly Operation[], stored: ReadonlyMap<string, number>): string[] {
  const ids = new Set(history.flatMap(({ id }) => id ?? []))
  return [...ids].flatMap((id) => violationsOf(id, history, stored.get(id)))
}

function violationsOf(id: string, history: readonly Operation[], n: number | undefined): string[] {
  const sets = history.filter((operation) => operation.kind === 'set' && operation.id === id)
  const removals = history.filter(
    ({ kind, id: removed }) => kind === 'reset' || (kind === 'remove' && removed === id),
  )
  const after = (one: Operation, other: Operation) => other.end < one.start
  const last = sets.find((set) => set.end < Infinity && removals.every((removal) => after(set, removal)))
  const gone = removals.find((removal) => removal.end < Infinity && sets.every((set) => after(removal, set)))
  const writer = sets.find((set) => set.n === n)
  const newer = writer && sets.find((set) => set.end < Infinity && after(set, writer))
  return [
    ...(last && n === undefined ? [`${id} was set (${last.n}) after all removals, and is lost`] : []),
    ...(gone && n !== undefined ? [`${id} was removed after all sets, and is there (${n})`] : []),
    ...(newer ? [`${id} is ${n}, and ${newer.n} was written after it`] : []),
  ]
}
