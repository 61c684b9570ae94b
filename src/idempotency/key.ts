/** The header `Idempotency-Key`: an item of RFC 9651 (structured fields) whose value is a string. */
import { MAX_KEY_LENGTH } from './options.ts'

/** `strict`: only a string in quotes, as the draft says. `any`: also without quotes, as many clients send it. */
export type KeyFormat = 'any' | 'strict'

const STRING = String.raw`"(?:[ !#-\[\]-~]|\\["\\])*"`
const BARE_ITEMS = [
  String.raw`-?\d{1,15}(?:\.\d{1,3})?`,
  STRING,
  "[A-Za-z*][\\w!#$%&'*+.^`|~:/-]*",
  ':[A-Za-z0-9+/=]*:',
  String.raw`\?[01]`,
  String.raw`@-?\d{1,15}`,
  '%"(?:[ !#$&-~]|%[0-9a-f]{2})*"',
]
const PARAMETER = `; *[a-z*][a-z0-9_.*-]*(?:=(?:${BARE_ITEMS.join('|')}))?`
/** Parameters are allowed, and none has a meaning. */
const ITEM = new RegExp(`^(${STRING})(?:${PARAMETER})*$`)
/** Visible ASCII without what would make it a list, a parameter or a string: `,` `;` `"` `\`. */
const UNQUOTED = /^[!#-+\--:<-[\]-~]+$/

/** The key in the header; `null` if the header is malformed. A key in quotes is the same key as one without. */
export function parseKey(header: string, format: KeyFormat): string | null {
  const text = header.replace(/^ +| +$/g, '')
  const [, quoted] = ITEM.exec(text) ?? []
  const key = quoted ? quoted.slice(1, -1).replace(/\\(["\\])/g, '$1') : unquoted(text, format)
  return key && key.length <= MAX_KEY_LENGTH ? key : null
}

function unquoted(text: string, format: KeyFormat): string {
  return format === 'any' && UNQUOTED.test(text) ? text : ''
}

/** The key as a structured-field string. */
export function formatKey(key: string): string {
  return `"${key.replace(/["\\]/g, '\\$&')}"`
}
