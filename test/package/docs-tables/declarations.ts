/** Reads names and comments of declarations in the source, as Biome has formatted it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/run-tool.ts'

export interface Member {
  readonly name: string
  readonly isOptional: boolean
  /** Its comment, up to the sentence that tells the default. */
  readonly text: string
  /** What its comment says after `Default`, without explanations; `undefined` if it says nothing. */
  readonly usual: string | undefined
}

/** The properties and methods of an interface, in their order. Inherited ones are not among them. */
export function membersOf(file: string, declaration: string): Member[] {
  const [, body = ''] =
    new RegExp(
      `^(?:export )?(?:interface|class) ${declaration}\\b[\\s\\S]*?\\{\\n([\\s\\S]*?)^\\}`,
      'm',
    ).exec(sourceOf(file)) ?? []
  const members = body.matchAll(
    /^(?: {2}\/\*\*(.*(?:\n {3}\*.*)*?)(?:\n {3})?\*\/\n)? {2}(?:readonly )?(\w+)(\?)?[:(<]/gm,
  )
  const found = Array.from(members, ([, comment = '', name = '', isOptional]) => ({
    ...commentOf(comment),
    name,
    isOptional: isOptional !== undefined,
  }))
  if (found.length === 0) throw new Error(`${file}: no members of ${declaration} found`)
  return found
}

/** The texts of a union of texts, with their comments. */
export function unionOf(file: string, declaration: string): Member[] {
  const [, body = ''] =
    new RegExp(`^export type ${declaration} =\\n((?: {2}.*\\n)+)`, 'm').exec(sourceOf(file)) ?? []
  const members = body.matchAll(/(?:^ {2}\/\*\*(.*(?:\n {3}\*.*)*?)(?:\n {3})?\*\/\n)?^ {2}\| '([^']+)'$/gm)
  const found = Array.from(members, ([, comment = '', name = '']) => ({
    ...commentOf(comment),
    name,
    isOptional: false,
  }))
  if (found.length === 0) throw new Error(`${file}: no members of ${declaration} found`)
  return found
}

export interface EventDeclaration {
  readonly type: string
  /** An optional one ends with a question mark. */
  readonly fields: readonly string[]
}

/** The events that a file declares, each by its `type` and its other fields. */
export function eventsOf(file: string, declaration = ''): EventDeclaration[] {
  const text = sourceOf(file)
  const source = text.slice(declaration ? text.indexOf(`export type ${declaration} =`) : 0)
  const events = source.matchAll(/^( *)[^\n]*\{\s*readonly type: ('[^\n;}]+)([\s\S]*?)\}$/gm)
  return Array.from(events, ([, , types = '', body = '']) =>
    Array.from(types.matchAll(/'([^']+)'/g), ([, type = '']) => ({
      type,
      fields: Array.from(body.matchAll(/readonly (\w+\??): (?!undefined)/g), ([, field = '']) => field),
    })),
  ).flat()
}

export function sourceOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** A sentence as a cell: without its capital letter and its full stop. */
export function asCell(sentence: string): string {
  const text = sentence.replace(/\.$/, '')
  return /^[A-Z][a-z]*\b/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}

function commentOf(comment: string): Pick<Member, 'text' | 'usual'> {
  const text = comment
    .replace(/\n\s*\*/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  const [, before = text, usual] = /^(.*?)\s*Default:? (.*)$/.exec(text) ?? []
  return { text: before.trim(), usual: usual && withoutReason(usual) }
}

/** A default without its explanation: "`host:pid`, or a short id in a page" → "`host:pid`". */
export function withoutReason(usual: string): string {
  const [value = usual] = /^`[^`]*`(?=[.:;,]|$)/.exec(usual) ?? []
  return value.replace(/(?:[.;:] .*|, (?:which|whose|as far|or) .*|\.)$/, '')
}
