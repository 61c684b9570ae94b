/** JSON as a tree that can hold what `JSON.stringify` never writes: a key twice, `__proto__`, a number without a value. */
export type JsonTree =
  | { readonly kind: 'raw'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'array'; readonly items: readonly JsonTree[] }
  | { readonly kind: 'object'; readonly entries: readonly Entry[] }
export type Entry = readonly [key: string, value: JsonTree]

/** Deeper texts are mutated as texts. */
const MAX_DEPTH = 100

/** `null`: not JSON of an object or an array, or too deep. */
export function parseTree(text: string): JsonTree | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? treeOf(value, MAX_DEPTH) : null
  } catch {
    return null
  }
}

export function textOf(tree: JsonTree): string {
  switch (tree.kind) {
    case 'raw':
      return tree.text
    case 'string':
      return JSON.stringify(tree.text)
    case 'array':
      return `[${tree.items.map(textOf).join()}]`
    case 'object':
      return `{${tree.entries.map(([key, value]) => `${JSON.stringify(key)}:${textOf(value)}`).join()}}`
  }
}

/** All nodes, the root first. */
export function nodesOf(tree: JsonTree): JsonTree[] {
  if (tree.kind === 'array') return [tree, ...tree.items.flatMap(nodesOf)]
  if (tree.kind === 'object') return [tree, ...tree.entries.flatMap(([, value]) => nodesOf(value))]
  return [tree]
}

export function replaced(tree: JsonTree, from: JsonTree, to: JsonTree): JsonTree {
  if (tree === from) return to
  if (tree.kind === 'array') return { ...tree, items: tree.items.map((item) => replaced(item, from, to)) }
  if (tree.kind !== 'object') return tree
  return { ...tree, entries: tree.entries.map(([key, value]) => [key, replaced(value, from, to)]) }
}

function treeOf(value: unknown, depth: number): JsonTree {
  if (depth === 0) throw new RangeError('too deep')
  if (typeof value === 'string') return { kind: 'string', text: value }
  if (Array.isArray(value)) return { kind: 'array', items: value.map((item) => treeOf(item, depth - 1)) }
  if (typeof value !== 'object' || value === null) return { kind: 'raw', text: String(value) }
  const entries = Object.entries(value).map(([key, item]): Entry => [key, treeOf(item, depth - 1)])
  return { kind: 'object', entries }
}
