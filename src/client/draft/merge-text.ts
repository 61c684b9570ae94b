import { differences } from './differences.ts'
import { mergeLists, type Part } from './merge-lists.ts'
import { MOST_REPLACED, WORDS_APART } from './options.ts'

/** The outcome of a three-way merge. Both contents have the separate edits of both sides. */
export interface Merged<T> {
  /** With mine in the places that both sides have changed differently. */
  readonly mine: T
  /** With theirs in those places. */
  readonly theirs: T
  /** In how many places both sides have made different changes. 0: `mine` and `theirs` are the same. */
  readonly overlaps: number
}

/**
 * Merges two texts that were made from the same one. Edits of different lines, or of different parts of a line, are
 * both kept. Where both sides have changed the same words, `mine` has my words and `theirs` has theirs.
 *
 * @example
 * const { mine, overlaps } = mergeText('one\ntwo', 'ONE\ntwo', 'one\nTWO')
 * if (overlaps === 0) show(mine)
 */
export function mergeText(base: string, mine: string, theirs: string): Merged<string> {
  const parts = mergeLists(linesOf(base), linesOf(mine), linesOf(theirs)).flatMap(byLines)
  return {
    mine: parts.flatMap(({ mine }) => mine).join('\n'),
    theirs: parts.flatMap(({ theirs }) => theirs).join('\n'),
    overlaps: parts.reduce((sum, { overlaps }) => sum + overlaps, 0),
  }
}

interface MergedLines {
  readonly mine: readonly string[]
  readonly theirs: readonly string[]
  readonly overlaps: number
}

/** Lines that both sides have changed are merged word by word, if it is clear which lines belong together. */
function byLines(part: Part<string>): MergedLines[] {
  if ('merged' in part) return [{ mine: part.merged, theirs: part.merged, overlaps: 0 }]
  const { base, mine, theirs, isInPlace } = part
  if (!isInPlace) return [{ mine, theirs, overlaps: 1 }]
  const merged = base.map((line, n) => mergeLine(line, mine[n] ?? '', theirs[n] ?? ''))
  const overlaps = merged.reduce((sum, line) => sum + line.overlaps, 0)
  return [{ mine: merged.map((line) => line.mine), theirs: merged.map((line) => line.theirs), overlaps }]
}

function mergeLine(base: string, mine: string, theirs: string): Merged<string> {
  const words = wordsOf(base)
  const [ours, others] = [wordsOf(mine), wordsOf(theirs)]
  const isOnlyOne = mine === base || theirs === base || mine === theirs
  if (!isOnlyOne && (isRewritten(words, ours) || isRewritten(words, others)))
    return { mine, theirs, overlaps: 1 }
  const parts = mergeLists(words, ours, others, (from, to) => to - from >= WORDS_APART)
  const text = (side: 'mine' | 'theirs') =>
    parts.flatMap((part) => ('merged' in part ? part.merged : part[side])).join('')
  return {
    mine: text('mine'),
    theirs: text('theirs'),
    overlaps: parts.filter((part) => !('merged' in part)).length,
  }
}

function isRewritten(base: readonly string[], side: readonly string[]): boolean {
  const replaced = differences(base, side).reduce((sum, { fromA, toA }) => sum + toA - fromA, 0)
  return replaced > base.length * MOST_REPLACED
}

function linesOf(text: string): string[] {
  return text.split(/\r\n?|\n/)
}

/** Words with the spaces behind them. Languages without spaces have words, too. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'word' }).segment(line))
    if (words.length > 0 && segment.trim() === '') words.push(words.pop() + segment)
    else words.push(segment)
  return words
}
