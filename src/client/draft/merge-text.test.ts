import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { mergeText } from './merge-text.ts'

const merged = (text: string) => ({ mine: text, theirs: text, overlaps: 0 })

describe('a three-way merge of texts', () => {
  it.each([
    ['different lines', 'a\nb\nc', 'A\nb\nc', 'a\nb\nC', 'A\nb\nC'],
    ['neighbouring lines', 'a\nb', 'A\nb', 'a\nB', 'A\nB'],
    ['lines at the beginning and at the end', 'first', 'first\nmore', 'intro\nfirst', 'intro\nfirst\nmore'],
    ['a line that one side removed and one that the other added', 'a\nb\nc', 'b\nc', 'a\nb\nc\nd', 'b\nc\nd'],
    [
      'different parts of a sentence',
      'We meet on Monday to talk about the new plan.',
      'We meet on Tuesday to talk about the new plan.',
      'We meet on Monday to talk about the old plan.',
      'We meet on Tuesday to talk about the old plan.',
    ],
    [
      'different parts of a sentence without spaces',
      '月曜日に新しい計画について話し合います。',
      '火曜日に新しい計画について話し合います。',
      '月曜日に新しい計画について決めます。',
      '火曜日に新しい計画について決めます。',
    ],
    ['the same change on both sides', 'a\nb', 'a\nnew\nb', 'a\nnew\nb', 'a\nnew\nb'],
  ])('a three-way merge of texts keeps the edits of %s', (_, base, mine, theirs, expected) => {
    expect(mergeText(base, mine, theirs)).toEqual(merged(expected))
  })

  it('a three-way merge of texts asks only about the words that both sides have changed', () => {
    const base = '# Plan\n\nWe meet on Monday in the small room.\n\nEnd'
    const mine = '# Plan\n\nWe meet on Tuesday in the small room.\n\nThe end'
    const theirs = '# The plan\n\nWe meet on Friday in the small room.\n\nEnd'
    expect(mergeText(base, mine, theirs)).toEqual({
      mine: '# The plan\n\nWe meet on Tuesday in the small room.\n\nThe end',
      theirs: '# The plan\n\nWe meet on Friday in the small room.\n\nThe end',
      overlaps: 1,
    })
  })

  it.each([
    [
      'neighbouring words',
      'a quick brown fox runs here',
      'a slow brown fox runs here',
      'a quick red fox runs here',
    ],
    ['lines added in the same place', 'a', 'a\nmine', 'a\ntheirs'],
    ['a line that the other side removed', 'a\nb\nc', 'a\nB\nc', 'a\nc'],
    [
      'a sentence that both have written anew',
      'The cat sat on the mat of the house.',
      'The old dog lay in the shade of a tree.',
      'When the sun rose, the birds of the wood sang.',
    ],
    [
      'a sentence that one side has mostly written anew',
      'one two three four five six seven eight',
      'Some other words that say six seven eight',
      'one two three four five six seven nine',
    ],
    ['an empty text', '', 'mine', 'theirs'],
  ])('a three-way merge of texts never mixes %s', (_, base, mine, theirs) => {
    expect(mergeText(base, mine, theirs)).toEqual({ mine, theirs, overlaps: 1 })
  })

  const line = fc.constantFrom(
    '',
    'a',
    'b',
    'one two three four five',
    'one two six four five',
    '- x',
    '、。',
  )
  const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'))

  it('a three-way merge of texts has nothing to ask if only one side has changed, or both in the same way', () => {
    checkProperty(
      fc.property(text, text, (base, other) => {
        expect(mergeText(base, other, base)).toEqual(merged(other))
        expect(mergeText(base, base, other)).toEqual(merged(other))
        expect(mergeText(base, other, other)).toEqual(merged(other))
      }),
    )
  })

  it('a three-way merge of texts has the same outcome for both sides', () => {
    checkProperty(
      fc.property(text, text, text, (base, mine, theirs) => {
        const outcome = mergeText(base, mine, theirs)
        const turned = mergeText(base, theirs, mine)
        expect(outcome).toEqual({ mine: turned.theirs, theirs: turned.mine, overlaps: turned.overlaps })
        expect(outcome.mine === outcome.theirs).toBe(outcome.overlaps === 0)
      }),
    )
  })

  /** What one person does with each line of a text. */
  const edits = fc.array(fc.constantFrom('keep', 'remove', 'replace', 'add'), { minLength: 1, maxLength: 30 })
  const applied = (name: string, kinds: readonly string[]) =>
    kinds
      .flatMap((kind, n) => {
        if (kind === 'remove') return []
        if (kind === 'replace') return [`${name}-${n}`]
        return kind === 'add' ? [`base-${n}`, `${name}-${n}`] : [`base-${n}`]
      })
      .join('\n')
  const linesOf = (lines: string) => new Set(lines.split('\n'))

  it('a three-way merge of texts loses no line that somebody wrote, and brings back none that somebody removed', () => {
    checkProperty(
      fc.property(edits, edits, (ours, others) => {
        const length = Math.min(ours.length, others.length)
        const base = applied('base', Array(length).fill('keep'))
        const mine = applied('mine', ours.slice(0, length))
        const theirs = applied('theirs', others.slice(0, length))
        const outcome = mergeText(base, mine, theirs)
        const sides = [
          [linesOf(mine), linesOf(outcome.mine)],
          [linesOf(theirs), linesOf(outcome.theirs)],
        ] as const
        for (const [written, shown] of sides) {
          expect([...written].filter((one) => !one.startsWith('base') && !shown.has(one))).toEqual([])
          expect([...shown].filter((one) => linesOf(base).has(one) && !written.has(one))).toEqual([])
        }
      }),
    )
  })

  it('a three-way merge of texts asks nothing about edits with an untouched line between them', () => {
    checkProperty(
      fc.property(edits, edits, (above, below) => {
        const keep = (kinds: readonly string[]) => kinds.map(() => 'keep')
        const both = (first: readonly string[], second: readonly string[]) => [...first, 'keep', ...second]
        const base = applied('base', both(keep(above), keep(below)))
        const outcome = mergeText(
          base,
          applied('new', both(above, keep(below))),
          applied('new', both(keep(above), below)),
        )
        expect(outcome).toEqual(merged(applied('new', both(above, below))))
      }),
    )
  })
})
