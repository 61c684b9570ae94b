import { type Difference, differences } from './differences.ts'

/** A part of three lists. `merged`: only one side has changed it, or both in the same way. */
export type Part<E> = { readonly merged: readonly E[] } | Overlap<E>

export interface Overlap<E> {
  readonly base: readonly E[]
  readonly mine: readonly E[]
  readonly theirs: readonly E[]
  /** Both sides have only replaced items, so the items of the three lists belong together one by one. */
  readonly isInPlace: boolean
}

/** Whether what is unchanged from `from` to `to` is enough to call the changes around it separate. */
type IsApart = (from: number, to: number) => boolean

/** A three-way merge. Equal items are the same value. Changes that touch each other overlap. */
export function mergeLists<E>(
  base: readonly E[],
  mine: readonly E[],
  theirs: readonly E[],
  isApart: IsApart = (from, to) => to > from,
): Part<E>[] {
  const parts: Part<E>[] = []
  const ours = new Side(base, mine)
  const others = new Side(base, theirs)
  let at = 0
  for (;;) {
    const from = Math.min(ours.next, others.next)
    if (from === Infinity) break
    if (from > at) parts.push({ merged: base.slice(at, from) })
    let to = from
    while (ours.take(from, to, isApart) || others.take(from, to, isApart)) to = Math.max(ours.to, others.to)
    const [isMine, isTheirs] = [ours.to >= from, others.to >= from]
    const isInPlace = ours.isInPlace && others.isInPlace
    const [changed, other] = [ours.end(from, to), others.end(from, to)]
    if (!isTheirs || isSame(changed, other)) parts.push({ merged: changed })
    else if (!isMine) parts.push({ merged: other })
    else parts.push({ base: base.slice(from, to), mine: changed, theirs: other, isInPlace })
    at = to
  }
  if (at < base.length) parts.push({ merged: base.slice(at) })
  return parts
}

/** The changes of one side, in order. */
class Side<E> {
  readonly #list: readonly E[]
  readonly #changes: readonly Difference[]
  #index = 0
  /** How much longer this side is than the base, up to here. */
  #shift = 0
  #growth = 0
  /** Where the changes of this side end that belong to the current part; -1: there are none. */
  to = -1
  isInPlace = true

  constructor(base: readonly E[], list: readonly E[]) {
    this.#list = list
    this.#changes = differences(base, list)
  }

  /** Where its next change begins. */
  get next(): number {
    return this.#changes[this.#index]?.fromA ?? Infinity
  }

  /** Takes the next change if it belongs to the part. */
  take(from: number, to: number, isApart: IsApart): boolean {
    const change = this.#changes[this.#index]
    if (!change || (change.fromA > from && isApart(to, change.fromA))) return false
    this.#index++
    const growth = change.toB - change.fromB - (change.toA - change.fromA)
    this.#growth += growth
    this.isInPlace &&= growth === 0
    this.to = change.toA
    return true
  }

  /** What this side has in the place of the part. The next part begins. */
  end(from: number, to: number): readonly E[] {
    const start = from + this.#shift
    this.#shift = this.#growth
    this.to = -1
    this.isInPlace = true
    return this.#list.slice(start, to + this.#shift)
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
