/** Finds numbers with a unit (a time in milliseconds or seconds, a size in bytes) and numbers that are a default. */
import { parseSync } from 'rolldown/utils'

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

/** Names that say their unit, such as `RETRY_MS` and `closeLimitMs`. */
const WITH_UNIT = /(_(MS|S|SECONDS|BYTES)|[a-z](Ms|Seconds|Bytes))$/
/** Constants of the calendar and of memory: they convert, and nobody tunes them. */
const UNIT = /^(SECOND|MINUTE|HOUR|DAY)_MS$/
/** The argument of these that is a time in milliseconds. */
const TIMED: Readonly<Record<string, number>> = {
  setTimer: 1,
  setTimeout: 1,
  setInterval: 1,
  pause: 1,
  timeout: 0,
}

/** What each of them is, with its line: `RETRY_MS in line 7`. */
export function bareNumbersIn(path: string, text: string): string[] {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const found: string[] = []
  const report = (what: string, { start }: Node) =>
    found.push(`${what} in line ${text.slice(0, start).split('\n').length}`)
  const visit = (node: Node): void => {
    const [name, value] = givenBy(node)
    const isDefault = node.type === 'AssignmentPattern'
    if ((isDefault || (WITH_UNIT.test(name) && !UNIT.test(name))) && isNumber(value)) report(name, node)
    if (node.type === 'CallExpression') {
      const callee = node['callee'] as Node
      const called = nameOf(callee['property'] ?? callee)
      const argument = (node['arguments'] as readonly Node[])[TIMED[called] ?? -1]
      if (isNumber(argument)) report(`the time of ${called}`, node)
    }
    for (const child of childrenOf(node)) visit(child)
  }
  visit(program as unknown as Node)
  return found
}

/** What a declaration, a default or a property gives a value to. */
function givenBy(node: Node): [name: string, value: unknown] {
  if (node.type === 'VariableDeclarator') return [nameOf(node['id']), node['init']]
  if (node.type === 'AssignmentPattern') return [nameOf(node['left']), node['right']]
  if (node.type === 'Property' || node.type === 'PropertyDefinition')
    return [nameOf(node['key']), node['value']]
  return ['', undefined]
}

/** A number other than 0 and 1, a list of numbers, or a computation with numbers only. */
function isNumber(value: unknown): boolean {
  const { type, value: literal, left, right, elements } = Object(value) as Record<string, unknown>
  if (type === 'Literal') return typeof literal === 'number' && literal > 1
  if (type === 'BinaryExpression') return isConstant(left) && isConstant(right)
  return type === 'ArrayExpression' && (elements as readonly unknown[]).some(isNumber)
}

function isConstant(value: unknown): boolean {
  return (Object(value) as Node).type === 'Literal' || isNumber(value)
}

function nameOf(node: unknown): string {
  return String((Object(node) as { readonly name?: unknown }).name ?? '')
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => value instanceof Object && typeof (value as Node).type === 'string')
}
