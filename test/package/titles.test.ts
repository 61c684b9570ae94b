import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { fragmentIn, titlesIn } from './titles.ts'

const FILES = globSync(['src/**/*.test.{ts,tsx}', 'web/src/**/*.test.{ts,tsx}', 'test/**/*.{ts,tsx}'], {
  cwd: root,
  exclude: ['**/node_modules/**'],
})

describe('the titles of tests', () => {
  it('the titles of tests are no fragments, so that a failure in a log says what is broken', () => {
    const titles = FILES.flatMap((path) =>
      titlesIn(path, readFileSync(join(root, path), 'utf8')).map((title) => ({ path, ...title })),
    )
    expect(titles.length).toBeGreaterThan(3000)
    const found = titles.flatMap(({ path, ...title }) => {
      const why = fragmentIn(title)
      return why ? `${path}:${title.line}: "${title.title}": ${why}` : []
    })
    expect(found).toEqual([])
  })

  it.each([
    ["describe('a disk', () => it('that is full is retryable', f))", 'it goes on'],
    ["it('keeps the lease', f)", 'it does not say who'],
    ["it.each([1])('is %s', f)", 'it does not say who'],
  ])('the titles of tests in %s are refused: %s', (text, why) => {
    expect(titlesIn('x.ts', text).map(fragmentIn)).toEqual([expect.stringContaining(why)])
  })

  it.each([
    "it('a full disk is a retryable error', f)",
    "it('of ten callers at once, one runs the work', f)",
    "describe('a lease', () => it('is free after its end', f))",
  ])('the titles of tests in %s are accepted', (text) => {
    expect(titlesIn('x.ts', text).map(fragmentIn)).toEqual([undefined])
  })
})
