/** The titles of the tests of a file, with those of the blocks around them. */
import { parseSync } from 'rolldown/utils'

export interface TestTitle {
  readonly line: number
  readonly title: string
  /** The titles of the blocks, from the outermost one on. One that is not a literal is left out. */
  readonly blocks: readonly string[]
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

export function titlesIn(path: string, text: string): TestTitle[] {
  const { program } = parseSync(path, text)
  const found: TestTitle[] = []
  const visit = (node: Node, blocks: readonly string[]) => {
    let inner = blocks
    if (node.type === 'CallExpression') {
      const name = nameOf(node['callee'] as Node)
      const title = textOf((node['arguments'] as readonly Node[])[0])
      if (name === 'describe') inner = [...blocks, title ?? '…']
      if (name === 'it' && title !== undefined)
        found.push({ line: text.slice(0, node.start).split('\n').length, title, blocks })
    }
    for (const child of childrenOf(node)) visit(child, inner)
  }
  visit(program as unknown as Node, [])
  return found
}

/**
 * Why the title is no sentence in a log; `undefined`: nothing was found. It finds the usual fragments: a title that goes on
 * with the sentence of its block, and one that begins with its verb and has no block to name who does it. Whether a title
 * says enough is for people to judge.
 */
export function fragmentIn({ title, blocks }: TestTitle): string | undefined {
  if (/^(that|which|who|whose|of|and|but|also|beside|about|right)\b/.test(title)) {
    const isSentence = /^of [^,]+, /.test(title) || /^beside [^,]+, /.test(title)
    if (!isSentence) return 'it goes on with the sentence of its block'
  }
  if (blocks.length > 0) return undefined
  if (/^(is|are|has|have|can|may|must|does|do)\b/.test(title)) return 'it does not say who'
  const isVerb = /^[a-z]+s (a|an|the|no|nothing|what|how|its|all|every|one|to|by)\b/.test(title)
  return isVerb ? 'it does not say who' : undefined
}

/** The name before `.each` and `.concurrent`: `it`, `describe`. */
function nameOf(node: Node | undefined): string {
  if (!node) return ''
  if (node.type === 'Identifier') return String(node['name'])
  return nameOf((node['object'] ?? node['callee'] ?? node['tag']) as Node | undefined)
}

function textOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node['value'] === 'string') return node['value']
  if (node?.type !== 'TemplateLiteral') return undefined
  return (node['quasis'] as readonly { value: { cooked: string } }[])
    .map(({ value }) => value.cooked)
    .join('…')
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof (value as Node | null)?.type === 'string')
}
