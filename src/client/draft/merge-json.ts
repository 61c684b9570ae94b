import { isObject } from '../../base/arguments.ts'
import { mergeLists } from './merge-lists.ts'
import { type Merged, mergeText } from './merge-text.ts'

/**
 * Merges two JSON values that were made from the same one: objects by their fields, lists by their items, and texts
 * of several lines by their words. Any other value that both sides have changed differently is an overlap.
 *
 * @example
 * mergeJson({ a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 3 }).mine // { a: 2, b: 3 }
 */
export function mergeJson<T>(base: T, mine: T, theirs: T): Merged<T> {
  return merge(base, mine, theirs) as Merged<T>
}

/** A field that does not exist is `undefined`. */
function merge(base: unknown, mine: unknown, theirs: unknown): Merged<unknown> {
  const [before, ours, others] = [base, mine, theirs].map(textOf)
  if (ours === others || others === before) return { mine, theirs: mine, overlaps: 0 }
  if (ours === before) return { mine: theirs, theirs, overlaps: 0 }
  if (isObject(mine) && isObject(theirs)) return mergeObjects(isObject(base) ? base : {}, mine, theirs)
  if (Array.isArray(mine) && Array.isArray(theirs))
    return mergeItems(Array.isArray(base) ? base : [], mine, theirs)
  const texts = [base, mine, theirs]
  if (texts.every((text) => typeof text === 'string' && text.includes('\n')))
    return mergeText(...(texts as [string, string, string]))
  return { mine, theirs, overlaps: 1 }
}

type Fields = Readonly<Record<string, unknown>>

function mergeObjects(base: Fields, mine: Fields, theirs: Fields): Merged<Fields> {
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])]
  const merged = names.map((name) => ({
    name,
    ...merge(fieldOf(base, name), fieldOf(mine, name), fieldOf(theirs, name)),
  }))
  const side = (which: 'mine' | 'theirs') =>
    Object.fromEntries(
      merged.filter((field) => field[which] !== undefined).map((field) => [field.name, field[which]]),
    )
  return {
    mine: side('mine'),
    theirs: side('theirs'),
    overlaps: merged.reduce((sum, { overlaps }) => sum + overlaps, 0),
  }
}

function fieldOf(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

function mergeItems(base: unknown[], mine: unknown[], theirs: unknown[]): Merged<unknown[]> {
  const parts = mergeLists(base.map(textOf), mine.map(textOf), theirs.map(textOf))
  const side = (which: 'mine' | 'theirs') =>
    parts.flatMap((part) => ('merged' in part ? part.merged : part[which])).map((text) => JSON.parse(text))
  return {
    mine: side('mine'),
    theirs: side('theirs'),
    overlaps: parts.filter((part) => !('merged' in part)).length,
  }
}

/** Equal values have equal texts, whatever the order of their fields. */
function textOf(value: unknown): string {
  const sorted = (_: string, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner
  return JSON.stringify(value, sorted) ?? ''
}
