import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

interface Rule {
  readonly wrong: RegExp
  readonly right: string
  /** Names that users have already, and texts that are installed in databases. */
  readonly allowed?: RegExp
}

/** ARCHITECTURE.md has the words that the project uses instead. */
const RULES: readonly Rule[] = [
  {
    // `handOver` is the verb.
    wrong: /[Hh]and-over|[Hh]andover|HandOver|HANDOVER|HAND_OVER|hand-off/g,
    right: 'handoff, to hand over',
    allowed: /(request|on)HandOver\b|\bhandover_(declined|unanswered|\$)|'handover'/g,
  },
  { wrong: /\btake-over/gi, right: 'takeover, to take over', allowed: /['"]take-over['"]|\d-take-over/g },
  { wrong: /\bwaiting[ -]?list/gi, right: 'queue' },
  { wrong: /\bguard process/gi, right: 'watchdog' },
  { wrong: /\bevent channel/gi, right: 'emitter' },
  { wrong: /\bturns? of the event loop/gi, right: 'tick' },
  {
    wrong: /\b(every|after|for|in|at most|at least|could take) so many\b|^\W*so many\b/gim,
    right: 'the number, with its unit',
  },
  { wrong: /\bof whom\b/gi, right: 'the noun' },
  {
    wrong:
      /\b(that|which) (is|are) none\b|\bwhat is no \b|\b(is|are) none of\b|\bwhom nobody\b|\bwho waits\b|\bso (many|long) (a|it|they)\b/gi,
    right: 'the noun: the waiters, a wrong value, how long',
  },
  { wrong: /\bin vain\b/gi, right: 'without success' },
  { wrong: /\bwhosoever\b|\bwhoever\b/gi, right: 'no matter who, or the noun' },
]

/** The rules themselves, and what was released under other words. */
const EXCEPT =
  /^(CHANGELOG\.md|test\/package\/words\.test\.ts|test\/stores\/redis\/version-1\.lua|.*\.(png|svg|pml))$|(^|\/)package-lock\.json$/

describe('the words', () => {
  it('the words of the code, the docs and the test titles are those of the glossary', () => {
    const files = execFileSync('git', ['ls-files', '-z', 'src', 'web', 'test', 'docs', 'examples', '*.md'], {
      cwd: root,
      encoding: 'utf8',
    })
    const paths = files.split('\0').filter((path) => path !== '' && !EXCEPT.test(path))
    expect(paths.length).toBeGreaterThan(1000)
    expect(paths.flatMap((path) => wrongWordsIn(readFileSync(join(root, path), 'utf8'), path))).toEqual([])
  })

  it.each([
    ['a hand-over to the next', 'handoff, to hand over'],
    ['class Handover', 'handoff, to hand over'],
    ['the waiting list', 'queue'],
    ['after every so many rows', 'the number, with its unit'],
    ['/** So many milliseconds', 'the number, with its unit'],
    ['a message that is none', 'the noun: the waiters, a wrong value, how long'],
    ['it tells who waits', 'the noun: the waiters, a wrong value, how long'],
    ['asked in vain', 'without success'],
    ['granted whoever waits', 'no matter who, or the noun'],
  ])('the words "%s" are found, and the message names "%s"', (text, right) => {
    expect(wrongWordsIn(text, 'x.ts').join()).toContain(right)
  })

  it.each([
    'requestHandOver()',
    "error: 'handover_declined'",
    "action: 'take-over'",
    'take over',
    'so that many',
    'hand over',
  ])('the words "%s" are allowed', (text) => {
    expect(wrongWordsIn(text, 'x.ts')).toEqual([])
  })
})

function wrongWordsIn(text: string, path: string): string[] {
  return RULES.flatMap(({ wrong, right, allowed }) => {
    const rest = allowed ? text.replace(allowed, (name) => name.replaceAll(/\S/g, '·')) : text
    return Array.from(rest.matchAll(wrong), ({ 0: word, index }) => {
      const line = rest.slice(0, index).split('\n').length
      return `${path}:${line}: "${word.trim()}"; write: ${right}`
    })
  })
}
