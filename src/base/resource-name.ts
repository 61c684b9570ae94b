import { refuse } from './arguments.ts'

export const MAX_NAME_BYTES = 512

/** The name in NFC, so that one name has one spelling. Throws if it is not a valid name. */
export function checkResource(resource: unknown): string {
  return checkName('resource', resource)
}

/** The same rules for another option, such as the id of a job. */
export function checkName(option: string, value: unknown): string {
  const name = typeof value === 'string' && value.isWellFormed() ? value.normalize('NFC') : ''
  if (!name || /\p{Cc}/u.test(name) || isLonger(name, MAX_NAME_BYTES))
    refuse(option, `1 to ${MAX_NAME_BYTES} bytes of UTF-8 without control characters`, value)
  return name
}

/** Whether the text takes more bytes in UTF-8. */
export function isLonger(text: string, bytes: number): boolean {
  // No UTF-16 unit takes more than three bytes, so most texts need not be encoded.
  return text.length > bytes / 3 && new TextEncoder().encode(text).length > bytes
}
