/** What is written to a register, and how it is read back. */
import { type JsonObject, LeaseError } from '../../core/index.ts'
import type { Entry } from './port.ts'

export type Content =
  | (Claim & {
      readonly type: 'grant'
      readonly ttl: number
      /** The token of the lease before. */
      readonly floor: number
      readonly replaced: Term | null
    })
  /** `span`: what was left of the lease when it was last written, and so the most that can be left of it. */
  | { readonly type: 'renewal'; readonly lease: Term; readonly span: number; readonly ttl: number }
  | { readonly type: 'end'; readonly lease: Term }
  | { readonly type: 'floor'; readonly token: number }

export interface Term extends Claim {
  readonly token: number
  readonly acquiredAt: number
  readonly expiresAt: number
}

interface Claim {
  readonly id: string
  readonly owner: string
  readonly metadata: JsonObject | null
}

/** Unlike any other text: an equal one may count as no write at all, and one's own could not be told from it. */
export function textOf(content: Content): string {
  return JSON.stringify({ version: 1, write: crypto.randomUUID(), ...content })
}

/** Throws when it is none: nobody may be granted what nobody understands. */
export function contentOf(entry: Entry): Content {
  let content: unknown
  try {
    content = JSON.parse(entry.text)
  } catch {
    throw unreadable(entry)
  }
  if (!isContent(content)) throw unreadable(entry)
  return content
}

export function unreadable({ name }: Entry): LeaseError {
  const what = name === '' ? 'the floor of tokens' : `the record of ${name}`
  return new LeaseError('store-failed', `${what} is damaged or of another version; it was left as it is`, {
    resource: name,
  })
}

function isContent(value: unknown): value is Content {
  const content = Object(value) as { readonly version?: unknown } & Content
  if (content.version !== 1) return false
  switch (content.type) {
    case 'grant': {
      const { ttl, floor, replaced } = content
      return isClaim(content) && areNumbers(ttl, floor) && (replaced === null || isTerm(replaced))
    }
    case 'renewal':
      return isTerm(content.lease) && areNumbers(content.span, content.ttl)
    case 'end':
      return isTerm(content.lease)
    case 'floor':
      return areNumbers(content.token)
    default:
      return false
  }
}

function isTerm(value: unknown): boolean {
  const { token, acquiredAt, expiresAt } = Object(value) as Partial<Term>
  return isClaim(value) && areNumbers(token, acquiredAt, expiresAt)
}

function isClaim(value: unknown): boolean {
  const { id, owner, metadata } = Object(value) as Partial<Claim>
  const hasNames = typeof id === 'string' && typeof owner === 'string'
  return hasNames && typeof metadata === 'object' && !Array.isArray(metadata)
}

function areNumbers(...values: unknown[]): boolean {
  return values.every(Number.isFinite)
}
