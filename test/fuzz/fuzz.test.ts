import { expect, it } from 'vitest'
import { fuzz } from './fuzz.ts'
import { inputOf } from './mutate.ts'
import { type Target, verdictOf } from './target.ts'
import { TARGETS, type TargetName } from './targets/index.ts'

const SEEDS = 250

it.each(Object.keys(TARGETS) as TargetName[])(
  'the fuzzer breaks nothing in %s, which accepts some inputs and refuses others',
  async (name) => {
    const { accepted, refused } = await fuzz(name, await TARGETS[name](), { from: 1, seeds: SEEDS })
    expect(accepted).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
  },
)

const TEXT = { corpus: [{ text: '{"a":[1,"x"]}' }] }
const target = (feed: (text: string) => unknown): Target => ({
  ...TEXT,
  open: () => ({ feed: ({ text = '' }) => verdictOf(() => feed(text)) }),
})
const run = (feed: (text: string) => unknown) => fuzz('a test', target(feed), { from: 1, seeds: 2000 })

it('the fuzzer makes the same input of a seed each time', () => {
  const inputs = () => Array.from({ length: 50 }, (_, seed) => inputOf(TEXT.corpus, 'a test', seed))
  expect(inputs()).toEqual(inputs())
  expect(new Set(inputs().map(({ text }) => text)).size).toBeGreaterThan(30)
})

it.each([
  [
    'an error that is not documented',
    (text: string) => void String(JSON.parse(text.replace(/^[^{].*/s, '{}')).a),
  ],
  ['a changed prototype', pollute],
])('the fuzzer finds %s', async (_, feed) => {
  await expect(run(feed).finally(() => Reflect.deleteProperty(Object.prototype, 'polluted'))).rejects.toThrow(
    /a test, seed \d+/,
  )
})

/** A merge as it is often written. */
function pollute(text: string): void {
  const merge = (into: Record<string, unknown>, from: object) => {
    for (const [key, value] of Object.entries(from))
      if (typeof value === 'object' && value !== null) merge(Object(into[key]), value)
      else into[key] = value
  }
  try {
    merge({}, JSON.parse(text))
  } catch {
    // Not JSON, or too deep.
  }
}
