import { MOST_EDITS } from './options.ts'

/** A part of `a` that another part replaces in `b`. Either part may be empty. */
export interface Difference {
  readonly fromA: number
  readonly toA: number
  readonly fromB: number
  readonly toB: number
}

/** The differences between two lists, by the algorithm of Myers. Equal items are the same value. */
export function differences(a: readonly unknown[], b: readonly unknown[]): Difference[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let endA = a.length
  let endB = b.length
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--
    endB--
  }
  if (start === endA && start === endB) return []
  const whole = [{ fromA: start, toA: endA, fromB: start, toB: endB }]
  if (start === endA || start === endB) return whole
  const steps = shortestEdits(a.slice(start, endA), b.slice(start, endB))
  return steps ? joined(steps, start) : whole
}

/** One item of `a` that is removed, or one of `b` that is added. */
interface Edit {
  readonly x: number
  readonly y: number
  readonly isAdded: boolean
}

/** From the last to the first; `null` if there are too many. */
function shortestEdits(a: readonly unknown[], b: readonly unknown[]): Edit[] | null {
  /** For each number of edits: how far in `a` each diagonal got, from diagonal `-edits` on. */
  const reached: Int32Array[] = []
  const most = Math.min(a.length + b.length, MOST_EDITS)
  for (let edits = 0; edits <= most; edits++) {
    const before = reached[edits - 1]
    const row = new Int32Array(2 * edits + 1)
    reached.push(row)
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = before ? furthest(before, edits - 1, diagonal) : 0
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++
      row[diagonal + edits] = x
      if (x >= a.length && x - diagonal >= b.length) return wayBack(reached, a.length, b.length)
    }
  }
  return null
}

/** Where the diagonal begins after one more edit. */
function furthest(before: Int32Array, edits: number, diagonal: number): number {
  return isAddition(before, edits, diagonal)
    ? at(before, edits, diagonal + 1)
    : at(before, edits, diagonal - 1) + 1
}

function isAddition(before: Int32Array, edits: number, diagonal: number): boolean {
  return at(before, edits, diagonal - 1) < at(before, edits, diagonal + 1)
}

function at(row: Int32Array, edits: number, diagonal: number): number {
  return Math.abs(diagonal) > edits ? -1 : (row[diagonal + edits] ?? -1)
}

function wayBack(reached: readonly Int32Array[], lengthA: number, lengthB: number): Edit[] {
  const steps: Edit[] = []
  let diagonal = lengthA - lengthB
  for (let edits = reached.length - 1; edits > 0; edits--) {
    const before = reached[edits - 1] as Int32Array
    const isAdded = isAddition(before, edits - 1, diagonal)
    diagonal += isAdded ? 1 : -1
    const x = at(before, edits - 1, diagonal)
    steps.push({ x, y: x - diagonal, isAdded })
  }
  return steps
}

/** Edits without an equal item between them are one difference. */
function joined(steps: readonly Edit[], offset: number): Difference[] {
  const found: Difference[] = []
  for (const { x, y, isAdded } of steps.toReversed()) {
    const last = found.at(-1)
    const isNext = last?.toA === x + offset && last.toB === y + offset
    const { fromA, fromB } = isNext ? last : { fromA: x + offset, fromB: y + offset }
    const next = { fromA, fromB, toA: x + offset + (isAdded ? 0 : 1), toB: y + offset + (isAdded ? 1 : 0) }
    if (isNext) found.pop()
    found.push(next)
  }
  return found
}
