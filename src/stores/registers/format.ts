/** The text of a register, and how it is read back. */
import { LeaseError } from '../../base/errors.ts'
import { randomId } from '../../base/random-id.ts'
import type { JsonObject } from '../../base/records.ts'
import type { Register } from './registers.ts'

/** What a write is meant to do. The server's time of the write decides what it did: see `row.ts`. */
export type StoredWrite =
  | (StoredHolder & {
      readonly type: 'grant'
      readonly ttl: number
      /** The token of the lease before. */
      readonly floor: number
      readonly replaced: StoredLease | null
    })
  /** `span`: what was left of the lease when it was last written, so that no more than that can be left of it. */
  | { readonly type: 'renewal'; readonly lease: StoredLease; readonly span: number; readonly ttl: number }
  | { readonly type: 'end'; readonly lease: StoredLease }
  | { readonly type: 'floor'; readonly token: number }

export interface StoredLease extends StoredHolder {
  readonly token: number
  readonly acquiredAt: number
  readonly expiresAt: number
}

interface StoredHolder {
  readonly id: string
  readonly owner: string
  readonly metadata: JsonObject | null
}

/** No two texts are equal: a database may ignore an equal write, and a client could not recognise its own. */
export function encode(write: StoredWrite): string {
  return JSON.stringify({ version: 1, write: randomId(), ...write })
}

/** Throws if the text is not ours: a resource must not be granted while its record cannot be read. */
export function decode(register: Register): StoredWrite {
  let write: unknown
  try {
    write = JSON.parse(register.text)
  } catch {
    throw unreadable(register)
  }
  if (!isStoredWrite(write)) throw unreadable(register)
  return write
}

export function unreadable({ name }: Register): LeaseError {
  const what = name === '' ? 'the token floor' : `the record of ${name}`
  return new LeaseError('store-failed', `${what} is damaged or of another version; it was left as it is`, {
    resource: name,
  })
}

function isStoredWrite(value: unknown): value is StoredWrite {
  const write = Object(value) as { readonly version?: unknown } & StoredWrite
  if (write.version !== 1) return false
  switch (write.type) {
    case 'grant': {
      const { ttl, floor, replaced } = write
      return isStoredHolder(write) && areNumbers(ttl, floor) && (replaced === null || isStoredLease(replaced))
    }
    case 'renewal':
      return isStoredLease(write.lease) && areNumbers(write.span, write.ttl)
    case 'end':
      return isStoredLease(write.lease)
    case 'floor':
      return areNumbers(write.token)
    default:
      return false
  }
}

function isStoredLease(value: unknown): boolean {
  const { token, acquiredAt, expiresAt } = Object(value) as Partial<StoredLease>
  return isStoredHolder(value) && areNumbers(token, acquiredAt, expiresAt)
}

function isStoredHolder(value: unknown): boolean {
  const { id, owner, metadata } = Object(value) as Partial<StoredHolder>
  const hasNames = typeof id === 'string' && typeof owner === 'string'
  return hasNames && typeof metadata === 'object' && !Array.isArray(metadata)
}

function areNumbers(...values: unknown[]): boolean {
  return values.every(Number.isFinite)
}
