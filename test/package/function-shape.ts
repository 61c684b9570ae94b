/** How long the functions of a file are, how many variables they change, and how many parameters they take. */
import { parseSync } from 'rolldown/utils'

export interface FunctionShape {
  /** `src/core/keeper.ts#createKeeper`. One without a name has its line. */
  readonly name: string
  readonly lines: number
  /** Variables declared with `let` that a function within it may change, too. Those of loops do not count. */
  readonly lets: number
  readonly parameters: number
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']

export function functionsIn(path: string, text: string): FunctionShape[] {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const lineOf = (at: number) => text.slice(0, at).split('\n').length
  const found: FunctionShape[] = []
  const visit = (node: Node, name: string | undefined) => {
    if (FUNCTIONS.includes(node.type)) {
      const own = (node['id'] as { name?: string } | null)?.name ?? name ?? `line ${lineOf(node.start)}`
      found.push({
        name: `${path}#${own}`,
        lines: lineOf(node.end) - lineOf(node.start) + 1,
        lets: letsIn(node['body'] as Node),
        parameters: parametersOf(node),
      })
    }
    for (const child of childrenOf(node)) visit(child, nameGivenBy(node) ?? undefined)
  }
  visit(program as unknown as Node, undefined)
  return found
}

/** Without those of functions inside, which have their own. */
function letsIn(node: Node): number {
  const own =
    node.type === 'VariableDeclaration' && node['kind'] === 'let'
      ? (node['declarations'] as readonly Node[]).length
      : 0
  const inner = childrenOf(node).filter(
    (child) => !FUNCTIONS.includes(child.type) && !(isLoop(node) && child === node['init']),
  )
  return own + inner.reduce((sum, child) => sum + letsIn(child), 0)
}

function isLoop({ type }: Node): boolean {
  return type === 'ForStatement' || type === 'ForInStatement' || type === 'ForOfStatement'
}

/** `this` and properties of a constructor are no positions. */
function parametersOf(node: Node): number {
  const params = node['params'] as readonly Node[] | { readonly items?: readonly Node[] }
  const list = Array.isArray(params) ? params : ((params as { items?: readonly Node[] }).items ?? [])
  return list.filter((parameter) => parameter['name'] !== 'this').length
}

/** The name that a declaration, property or method gives to the function in it. */
function nameGivenBy(node: Node): string | undefined {
  const key = (node['key'] ?? (node.type === 'VariableDeclarator' ? node['id'] : undefined)) as
    | { readonly name?: string }
    | undefined
  return key?.name
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => value instanceof Object && typeof (value as Node).type === 'string')
}
