/** Ids and values that a storage might change: each is stored as it is, or refused by name. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LoadedExtension, loadExtension } from './loaded-extension.ts'

/** As expressions, because some cannot be sent to a page. */
const IDS = [
  ...['"a"', '"A"', '" a"', '"a "', '"a.b"', '"a:b"', '"a/b"', '"a%b"', '"%00"', '"a\\\\b"', '"a\\tb"'],
  ...['"a\\nb"', '"\\u0001"', '"\\u007f"', '"\\u0080"', '"\\u200d"', '"\\u202e"', '"\\ufeff"', '"\\ufffe"'],
  ...[
    '"\\ufffd"',
    '"e\\u0301"',
    '"\\u00e9"',
    '"日本"',
    '"😀"',
    '"__proto__"',
    '"constructor"',
    '"0"',
    '"-1"',
  ],
  ...['"x".repeat(300)', '"ids"', '"index"', '"a\\0b"', '"\\0"', '"\\ud800"', '""', '7'],
]
const REFUSED_IDS = ['"a\\0b"', '"\\0"', '"\\ud800"', '""', '7']

const VALUES = [
  ...[
    '{}',
    '{ v: null }',
    '{ v: "" }',
    '{ v: "a\\0b" }',
    '{ v: "\\u202e\\ufffe" }',
    '{ v: 0.1 }',
    '{ v: -0 }',
  ],
  ...[
    '{ v: 2 ** 53 }',
    '{ v: 2 ** 31 }',
    '{ v: 5e-324 }',
    '{ v: 1.7976931348623157e308 }',
    '{ v: [[], {}] }',
  ],
  ...['{ "": 1 }', '{ "a.b": { "c.d": 1 } }', '{ "a\\0b": 1 }', 'JSON.parse(`{"__proto__":{"a":1}}`)'],
  ...['nested(5)', 'nested(63)', '{ v: "\\ud800" }', '{ "\\ud800": 1 }', '{ v: [1, , 3] }', '{ v: NaN }'],
  ...['{ v: Infinity }', '{ v: new Date(0) }', '{ v: new Set([1]) }', '{ v: 1n }', '{ v: () => 1 }'],
  ...['{ get v() { throw new Error("no") } }', 'nested(64)', 'nested(5000)'],
]
const REFUSED_VALUES = VALUES.slice(VALUES.indexOf('{ v: "\\ud800" }'))

describe.each(['local', 'sync'] as const)('storage.%s', (area) => {
  let extension: LoadedExtension
  let page: Page
  beforeAll(async () => {
    extension = await loadExtension(join(import.meta.dirname, 'probe'))
    page = await extension.open('lab.html')
    await page.evaluate(`Object.assign(globalThis, {
      nested: (levels) => levels === 0 ? {} : { v: nested(levels - 1) },
      same(one, other) {
        if (typeof one !== 'object' || one === null) return one === other
        const keys = Object.keys(one)
        return keys.length === Object.keys(Object(other)).length && keys.every((key) => same(one[key], other[key]))
      },
      /** Writes all pairs in one turn, and reads them in another context. */
      async outcomes(options, pairs) {
        const open = () =>
          createSync({ ...chromeContext({ area: '${area}' }), onWarning() {}, namespace: 'values', ...options })
        const [one, other] = [open(), open()]
        const written = await Promise.allSettled(pairs.map(([id, value]) => one.setEntity(id, value)))
        await other.bootstrap()
        const shown = pairs.map(([id, value], at) => {
          const { reason } = written[at]
          if (reason) return reason.code + ': ' + reason.message
          return same(value, other.get(id)) ? 'stored' : 'changed: ' + JSON.stringify(other.get(id))
        })
        const size = other.state.entries.length
        await chrome.storage.${area}.clear()
        await Promise.all([one.close(), other.close()])
        return [size, shown]
      },
    })`)
  })
  afterAll(async () => {
    await extension?.[Symbol.asyncDispose]()
  })

  const outcomes = (options: object, pairs: readonly string[]) =>
    page.evaluate(`outcomes(${JSON.stringify(options)}, [${pairs}])`) as Promise<[number, string[]]>

  describe.each([
    { layout: 'one-key' },
    { layout: 'key-per-entity' },
    { layout: 'key-per-entity', shards: 3 },
  ])('with %o', (options) => {
    it('stores each id as it is, or refuses it by name', async () => {
      const [size, found] = await outcomes(
        options,
        IDS.map((id) => `[${id}, { n: 1 }]`),
      )
      expect(IDS.map((id, at) => [id, found[at]])).toEqual(
        IDS.map((id) => [id, REFUSED_IDS.includes(id) ? refused('entity id: ') : 'stored']),
      )
      expect(size).toBe(IDS.length - REFUSED_IDS.length)
    })

    it('stores each value as it is, or refuses it by name', async () => {
      const [size, found] = await outcomes(
        options,
        VALUES.map((value, at) => `['v${at}', ${value}]`),
      )
      expect(VALUES.map((value, at) => [value, found[at]])).toEqual(
        VALUES.map((value, at) => [
          value,
          REFUSED_VALUES.includes(value) ? refused(`entity v${at}`) : 'stored',
        ]),
      )
      expect(size).toBe(VALUES.length - REFUSED_VALUES.length)
    })
  })
})

const refused = (name: string) => expect.stringContaining(`invalid-argument: ${name}`)
