/** One valid input becomes an odd one. Texts that are JSON are mutated as trees, also inside of other JSON. */
import { Random } from '../sim/world.ts'
import { type JsonTree, nodesOf, parseTree, replaced, textOf } from './json-tree.ts'
import type { Input } from './target.ts'

const MOST_MUTATIONS = 4
/** Of `JSON.stringify`, and of recursion in general, this exhausts the stack. `JSON.parse` reads it. */
const DEEP = 20_000
const LONG = 70_000

/** JSON texts, some of which are not valid. */
const ODD_VALUES: readonly string[] = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e308',
  '1e999',
  '-1e999',
  '9007199254740991',
  '9007199254740993',
  '8640000000000001',
  '1e-7',
  'NaN',
  'Infinity',
  'undefined',
  '""',
  '"0"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\r\\n"',
  '"%00%ff%"',
  '"__proto__"',
  '"constructor"',
  '"2026-02-30T29:61:61.000Z"',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  // No primitive value: `String(…)`, `Number(…)` and templates throw a TypeError.
  '{"toString":null,"valueOf":null}',
  '{"toJSON":1,"then":1,"length":1e9}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`,
  `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
  JSON.stringify('x'.repeat(LONG)),
]

/** Some are fields of other versions. */
const ODD_KEYS: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'hasOwnProperty',
  'then',
  'length',
  '0',
  '',
  '\u0000',
  '\ud800',
  'version',
  'format',
  'v',
  'holdfast',
  'lease',
  'leases',
  'share',
  'fromTomorrow',
]

const ODD_TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  '\r\n',
  '\n',
  '\u2028',
  '\ud800',
  '\udfff',
  '\ufeff',
  'é',
  'e\u0301',
  '💣',
  '%',
  '%00',
  '%2F',
  '%ff',
  '%u0000',
  '../',
  '__proto__',
  'constructor',
  '-',
  '--',
  '=',
  '&',
  ';',
  ',',
  '.',
  '"',
  "'",
  '\\',
  '{',
  '[',
  ']',
  '}',
  ':',
  '*',
  '0',
  '-1',
  '1e999',
  '99999999999999999999',
  'NaN',
  'Infinity',
  'null',
  '9'.repeat(400),
  'x'.repeat(LONG),
]

/** The seed decides everything. */
export function inputOf(corpus: readonly Input[], name: string, seed: number): Input {
  const random = new Random(hashOf(`${name} ${seed}`))
  const chosen = random.pick(corpus)
  const input: Record<string, string> = { ...chosen }
  // `kind` says how the rest is fed.
  const fields = Object.keys(input).filter((field) => field !== 'kind')
  const count = Math.floor(random.between(0, MOST_MUTATIONS + 1))
  for (let n = 0; n < count; n++) {
    const field = random.pick(fields)
    const other = random.pick(corpus)[field]
    if (other !== undefined && random.chance(0.05)) input[field] = other
    else input[field] = mutateText(random, input[field] ?? '')
  }
  return input
}

function mutateText(random: Random, text: string): string {
  const tree = random.chance(0.85) ? parseTree(text) : null
  if (tree) return textOf(mutateTree(random, tree))
  return random.pick(TEXT_MUTATIONS)(text, random)
}

type TextMutation = (text: string, random: Random) => string

const TEXT_MUTATIONS: readonly TextMutation[] = [
  (_, random) => random.pick(ODD_TEXTS),
  (text, random) => insert(text, random, random.pick(ODD_TEXTS)),
  (text, random) => insert(text, random, random.pick(ODD_TEXTS)),
  (text, random) => text.slice(0, placeIn(text, random)),
  (text, random) => text.slice(placeIn(text, random)),
  // A bit of one character.
  (text, random) => {
    const at = placeIn(text, random)
    const flipped = text.charCodeAt(at) ^ (2 ** Math.floor(random.between(0, 8)))
    return text.slice(0, at) + String.fromCharCode(flipped) + text.slice(at + 1)
  },
  (text, random) => {
    const [from, to] = rangeIn(text, random)
    return text.slice(0, from) + text.slice(to)
  },
  (text, random) => {
    const [from, to] = rangeIn(text, random)
    return text.slice(0, to) + text.slice(from)
  },
  (text, random) => text.replace(/\d+/g, (digits) => (random.chance(0.5) ? digits : oddNumber(random))),
  (text, random) => text.replaceAll(random.chance(0.5) ? '\n' : ' ', '\r\n'),
  (text, random) => (random.chance(0.5) ? text.toUpperCase() : text.toLowerCase()),
  (text) => encodeURIComponent(text.toWellFormed()),
]

function mutateTree(random: Random, tree: JsonTree): JsonTree {
  const node = random.pick(nodesOf(tree))
  return replaced(tree, node, mutateNode(random, node, tree))
}

function mutateNode(random: Random, node: JsonTree, root: JsonTree): JsonTree {
  if (random.chance(0.25)) return oddValue(random)
  if (random.chance(0.08)) return random.pick(nodesOf(root))
  if (random.chance(0.05)) return { kind: 'array', items: [node, node] }
  switch (node.kind) {
    case 'raw':
      return {
        kind: 'raw',
        text: /\d/.test(node.text) ? nearNumber(node.text, random) : oddValueText(random),
      }
    case 'string':
      return { kind: 'string', text: mutateText(random, node.text) }
    case 'array': {
      const at = Math.floor(random.between(0, node.items.length + 1))
      const added = random.chance(0.5) ? [oddValue(random)] : node.items.slice(0, 1)
      return { kind: 'array', items: node.items.toSpliced(at, random.chance(0.5) ? 1 : 0, ...added) }
    }
    case 'object': {
      const at = Math.floor(random.between(0, node.entries.length))
      const [key = '', value = oddValue(random)] = node.entries[at] ?? []
      return random.pick<JsonTree>([
        { kind: 'object', entries: node.entries.toSpliced(at, 1) },
        { kind: 'object', entries: [...node.entries, [key, oddValue(random)]] },
        { kind: 'object', entries: [...node.entries, [random.pick(ODD_KEYS), oddValue(random)]] },
        { kind: 'object', entries: [...node.entries, [random.pick(ODD_KEYS), value]] },
        { kind: 'object', entries: node.entries.toSpliced(at, 1, [random.pick(ODD_KEYS), value]) },
      ])
    }
  }
}

function oddValue(random: Random): JsonTree {
  return { kind: 'raw', text: oddValueText(random) }
}

function oddValueText(random: Random): string {
  return random.pick(ODD_VALUES)
}

function nearNumber(text: string, random: Random): string {
  const number = Number(text)
  return String(random.pick([number + 1, number - 1, -number, number * 1000, number / 1000, number + 0.5]))
}

function oddNumber(random: Random): string {
  return random.pick(['0', '-1', '1e999', '99999999999999999999', '0.5', '007', '2147483648'])
}

function insert(text: string, random: Random, added: string): string {
  const at = placeIn(text, random)
  return text.slice(0, at) + added + text.slice(at)
}

function placeIn(text: string, random: Random): number {
  return Math.floor(random.between(0, text.length + 1))
}

function rangeIn(text: string, random: Random): [from: number, to: number] {
  const [one, other] = [placeIn(text, random), placeIn(text, random)]
  return [Math.min(one, other), Math.max(one, other)]
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}
