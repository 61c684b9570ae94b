/**
 * Finds numbers that somebody may want to change: a time, a size, a limit, a default. Found are
 * - constants of a module, and what has a unit in its name, with a number from 2 on;
 * - defaults: `tries = 5`, `tries ?? 5`, `max || 5`;
 * - any other number from 10 on, in code and in the SQL and Lua of template texts.
 *
 * Not found are numbers that nobody tunes: factors between units, statuses of HTTP, hexadecimal numbers, and positions
 * in a text (`slice(0, 10)`).
 */
import { parseSync } from 'rolldown/utils'

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** Names that say their unit, such as `RETRY_MS` and `closeLimitMs`. */
const WITH_UNIT = /(_(MS|S|SECONDS|BYTES)|[a-z](Ms|Seconds|Bytes))$/
/** Constants of the calendar and of memory: they convert, and nobody tunes them. */
const UNIT = /^(SECOND|MINUTE|HOUR|DAY)_MS$|^[KM]iB$|^(SECOND|MILLISECOND)$/
/** The argument of these that is a time in milliseconds. */
const TIMED: Readonly<Record<string, number>> = {
  setTimer: 1,
  setTimeout: 1,
  setInterval: 1,
  pause: 1,
  timeout: 0,
}
/** Their numbers are positions, lengths, digits and dates. */
const POSITIONS =
  /^(slice|substring|padStart|padEnd|toString|toFixed|toPrecision|parseInt|at|charCodeAt|UTC|subarray)$/
/** With these a unit is made of another one: thousands, powers of two, percent, parts of an hour or a day. */
const FACTORS = new Set([
  10, 12, 16, 24, 60, 100, 1000, 1024, 3600, 60_000, 1e6, 3_600_000, 86_400, 86_400_000, 1e9,
])
/** The parts that send SQL and Lua. */
const HAS_PROGRAMS = /^src\/(stores|once|guard|server|clients)\//
/** SQL and Lua, and what is in them beside numbers that are tuned: comments, texts, types of columns, codes of errors. */
const IS_PROGRAM = /\b(local|select|insert|update|delete|declare|create|with|then)\b/i
const NOT_TUNED = /--.*|'[^'\n]*'|\b(var)?(char|binary)\(\d+\)|mysql_errno = \d+/g
const TEXT_FACTORS = new Set([1000, 1_000_000])
/** These answer or send requests, so a whole number of three digits is a status, unless it limits something. */
const SPEAKS_HTTP =
  /^src\/(server|client|idempotency|protocol)\/|^src\/(once\/task-handler|telemetry\/(alerts|http-batches)|react\/draft-notice)\./
const STATUSES = /^[1-5]\d\d$/
const LIMITING = /^(min|max)(Length|Value)?$|^(text|integer|name|alloc)$/
const LEAST = 10

/** What each of them is, with its line: `RETRY_MS in line 7`. */
export function bareNumbersIn(path: string, text: string): string[] {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const found: string[] = []
  const report = (what: string, start: number) =>
    found.push(`${what} in line ${text.slice(0, start).split('\n').length}`)

  const visit = (node: Node, parents: readonly Node[]): void => {
    const [name, value] = givenBy(node)
    if (isGiven(node, name, value, parents)) {
      if (!UNIT.test(name)) report(name || 'a number', node.start)
      return
    }
    if (node.type === 'CallExpression') {
      const called = calleeOf(node)
      const argument = (node['arguments'] as readonly Node[])[TIMED[called] ?? -1]
      if (isNumber(argument)) return void report(`the time of ${called}`, node.start)
    }
    if (node.type === 'TemplateLiteral' && HAS_PROGRAMS.test(path)) {
      for (const [number, at] of numbersOfText(node)) report(`${number} of a text`, at)
    }
    if (isTunable(node, path, parents)) report(String(node['value']), node.start)
    for (const child of childrenOf(node)) visit(child, [node, ...parents])
  }
  visit(program as unknown as Node, [])
  return found
}

/** Whether the number is a default, has a unit in its name, or is a constant of the module. */
function isGiven(node: Node, name: string, value: unknown, parents: readonly Node[]): boolean {
  if (!isNumber(value)) return false
  const isDefault = node.type === 'AssignmentPattern' || isFallback(node)
  const isConstant = node.type === 'VariableDeclarator' && parents.length <= 3
  return isDefault || isConstant || WITH_UNIT.test(name)
}

function isFallback({ type, operator }: Node): boolean {
  return type === 'LogicalExpression' && operator !== '&&'
}

/** Whether a number in the midst of code is neither a factor, a status, a position nor a code in hexadecimal digits. */
function isTunable(node: Node, path: string, [parent]: readonly Node[]): boolean {
  const { type, value, raw } = node
  if (type !== 'Literal' || typeof value !== 'number' || value < LEAST || !parent) return false
  if (isHex(raw) || parent.type.startsWith('TS') || parent['key'] === node) return false
  if (parent.type === 'CallExpression' && POSITIONS.test(calleeOf(parent))) return false
  if (isConverting(parent) && FACTORS.has(value)) return false
  const isLimit = parent.type === 'CallExpression' && LIMITING.test(calleeOf(parent))
  return isLimit || !(SPEAKS_HTTP.test(path) && STATUSES.test(String(value)))
}

function isHex(raw: unknown): boolean {
  return String(raw).startsWith('0x')
}

function isConverting({ type, operator }: Node): boolean {
  return type === 'BinaryExpression' && /^(\*\*?|\/|%)$/.test(String(operator))
}

/** The numbers of SQL and Lua, without factors, with the place of each. */
function numbersOfText(node: Node): [number: number, at: number][] {
  return (node['quasis'] as readonly (Node & { value: { raw: string } })[]).flatMap((quasi) => {
    if (!IS_PROGRAM.test(quasi.value.raw)) return []
    const words = quasi.value.raw.replaceAll(NOT_TUNED, (text) => ' '.repeat(text.length))
    return Array.from(
      words.matchAll(/(?<![\w$.#-])\d[\d_]*(?![\w%.])/g),
      ({ 0: digits, index }): [number, number] => [Number(digits), quasi.start + index],
    ).filter(([number]) => number >= LEAST && !TEXT_FACTORS.has(number))
  })
}

/** What a declaration, a default or a property gives a value to. */
function givenBy(node: Node): [name: string, value: unknown] {
  if (node.type === 'VariableDeclarator') return [nameOf(node['id']), node['init']]
  if (node.type === 'AssignmentPattern') return [nameOf(node['left']), node['right']]
  if (node.type === 'LogicalExpression') {
    const left = node['left'] as Node
    return [nameOf(left['property'] ?? left), node['right']]
  }
  if (node.type === 'Property' || node.type === 'PropertyDefinition')
    return [nameOf(node['key']), node['value']]
  return ['', undefined]
}

/** A number other than 0 and 1, a fraction, a list or an object of numbers, or a computation with numbers and constants only. */
function isNumber(value: unknown): boolean {
  const {
    type,
    value: literal,
    raw,
    left,
    right,
    elements,
    properties,
    expression,
  } = Object(value) as Record<string, unknown>
  if (type === 'Literal')
    return typeof literal === 'number' && !isHex(raw) && (literal > 1 || literal % 1 > 0)
  if (type === 'BinaryExpression') return isConstant(left) && isConstant(right)
  if (type === 'TSAsExpression' || type === 'TSSatisfiesExpression') return isNumber(expression)
  if (type === 'ObjectExpression') return (properties as readonly Node[]).some(({ value }) => isNumber(value))
  return type === 'ArrayExpression' && (elements as readonly unknown[]).some(isNumber)
}

function isConstant(value: unknown): boolean {
  return (Object(value) as Node).type === 'Literal' || UNIT.test(nameOf(value)) || isNumber(value)
}

function calleeOf(call: Node): string {
  const callee = call['callee'] as Node
  return nameOf(callee['property'] ?? callee)
}

function nameOf(node: unknown): string {
  return String((Object(node) as { readonly name?: unknown }).name ?? '')
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => value instanceof Object && typeof (value as Node).type === 'string')
}
