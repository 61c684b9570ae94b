import { refuse } from './arguments.ts'

const MAX_NAME_BYTES = 512

/** The name in NFC, so that one name has one spelling. Throws if it is not a valid name. */
export function checkResource(resource: unknown): string {
  const name = typeof resource === 'string' && resource.isWellFormed() ? resource.normalize('NFC') : ''
  if (!name || /\p{Cc}/u.test(name) || isLonger(name, MAX_NAME_BYTES))
    refuse('resource', `1 to ${MAX_NAME_BYTES} bytes of UTF-8 without control characters`, resource)
  return name
}

/** Whether the text takes more bytes in UTF-8. */
export function isLonger(text: string, bytes: number): boolean {
  // No UTF-16 unit takes more than three bytes, so most texts need not be encoded.
  return text.length > bytes / 3 && new TextEncoder().encode(text).length > bytes
}
