import { refuse } from './arguments.ts'
import { MAX_NAME_BYTES } from './options.ts'

/** The name in NFC, so that one name has one spelling. Throws if it is not a valid name. */
export function checkResource(resource: unknown): string {
  return checkName('resource', resource)
}

/** The same rules for another option, such as the id of a job. */
export function checkName(option: string, value: unknown): string {
  const name = typeof value === 'string' ? value.normalize('NFC') : value
  return checkText(option, name, /\p{Cc}/u, 'control characters')
}

/** The beginning of names, in NFC as they are. Default: empty. */
export function checkPrefix({ prefix = '' }: { readonly prefix?: unknown }): string {
  if (typeof prefix !== 'string') refuse('prefix', 'a string', prefix)
  return prefix.normalize('NFC')
}

/** Who holds a lease. Shown to others, and stored by every backend as it is. */
export function checkOwner(option: string, owner: unknown): string {
  return checkText(option, owner, /\0/, 'NUL')
}

/** `refused`: the characters that it may not contain, and their name. */
function checkText(option: string, text: unknown, refused: RegExp, name: string): string {
  const isText = typeof text === 'string' && text.isWellFormed() && !refused.test(text)
  if (!isText || !text || isLonger(text, MAX_NAME_BYTES))
    refuse(option, `1 to ${MAX_NAME_BYTES} bytes of UTF-8 without ${name}`, text)
  return text
}

/** Whether the text takes more bytes in UTF-8. */
export function isLonger(text: string, bytes: number): boolean {
  // No UTF-16 unit takes more than three bytes, so most texts need not be encoded.
  return text.length > bytes / 3 && new TextEncoder().encode(text).length > bytes
}
