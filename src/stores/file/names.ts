import { createHash } from 'node:crypto'
import { MAX_FILE_NAME_LENGTH } from './options.ts'

/**
 * The file name of a resource. Only lower-case letters are kept; all other bytes of UTF-8 are escaped, because some
 * file systems ignore case or normalise Unicode. The prefix `n-` avoids names such as `..` and `con`. A name that is
 * too long is hashed; its generations contain it in full.
 */
export function keyOf(resource: string): string {
  const key = `n-${Array.from(Buffer.from(resource), escapeByte).join('')}`
  if (key.length <= MAX_FILE_NAME_LENGTH) return key
  return `h-${createHash('sha256').update(resource).digest('hex')}`
}

/** The resource of a key; `null`: it was hashed, or the file is not ours. */
export function resourceOf(key: string): string | null {
  if (!key.startsWith('n-')) return null
  const bytes = key.slice(2).match(/%[0-9a-f]{2}|[^%]/g) ?? []
  const resource = Buffer.from(bytes.map(unescapeByte)).toString()
  return keyOf(resource) === key ? resource : null
}

function escapeByte(byte: number): string {
  const char = String.fromCharCode(byte)
  return /[a-z0-9_-]/.test(char) ? char : `%${byte.toString(16).padStart(2, '0')}`
}

function unescapeByte(text: string): number {
  return text.length === 1 ? text.charCodeAt(0) : Number.parseInt(text.slice(1), 16)
}
