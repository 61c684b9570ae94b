/**
 * The text of a register: the state before a write, and what that write is meant to do. The server's time of the write
 * decides what it did: see `transitions.ts`.
 *
 * Every process that reads a register must come to the same state. So `VERSION` rises not only with the fields, but
 * also with the rules of `lease-row.ts`: a process refuses a register whose rules it does not know.
 */
import { isObject } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import { randomId } from '../../base/random-id.ts'
import { decodeShare, encodeShare, isShare } from '../../base/share.ts'
import type { Ask } from '../../core/index.ts'
import { type LeaseRow, newRow } from '../lease-row.ts'
import { decodeLeases, encodeLease } from '../stored-lease.ts'
import type { Register } from './registers.ts'
import { decodeVersion1 } from './rows-1.ts'

const VERSION = 2
/** The token floor is written as in version 1, because processes of that version need it too. */
const FLOOR_VERSION = 1

/** What a write may be meant to do, by its type. */
export interface Intents {
  readonly acquire: Pick<
    Ask,
    'id' | 'owner' | 'ttl' | 'metadata' | 'share' | 'atLeast' | 'lockDelay' | 'replace'
  >
  readonly renew: { readonly id: string; readonly ttl: number }
  readonly release: { readonly id: string } | { readonly token: number }
  /** Ends those of these leases that have expired. Without any, it only states the row by the current clock. */
  readonly expire: { readonly tokens: readonly number[] }
}

export type IntentType = keyof Intents

export type StoredWrite = {
  [Type in IntentType]: { readonly before: LeaseRow; readonly type: Type; readonly intent: Intents[Type] }
}[IntentType]

/** No two texts are equal: a database may ignore an equal write, and a client could not recognise its own. */
export function encode<Type extends IntentType>(before: LeaseRow, type: Type, intent: Intents[Type]): string {
  const { token, endedAt, leases } = before
  const state = { token, endedAt, leases: leases.map(encodeLease) }
  const stored = 'share' in intent ? { ...intent, share: encodeShare(intent.share) } : intent
  return JSON.stringify({ version: VERSION, write: randomId(), before: state, type, intent: stored })
}

/** Throws if the text is not ours: a resource must not be granted while its record cannot be read. */
export function decode(register: Register): StoredWrite {
  const value = parse(register)
  const { version } = value
  const write = version === 1 ? decodeVersion1(register.name, value) : decodeWrite(register.name, value)
  if (!write) throw unreadable(register)
  return write
}

export function encodeFloor(token: number): string {
  return JSON.stringify({ version: FLOOR_VERSION, write: randomId(), type: 'floor', token })
}

export function decodeFloor(register: Register): number {
  const { version, type, token } = parse(register)
  if (version !== FLOOR_VERSION || type !== 'floor' || !Number.isFinite(token)) throw unreadable(register)
  return token as number
}

function parse(register: Register): Record<string, unknown> {
  try {
    return Object(JSON.parse(register.text))
  } catch {
    throw unreadable(register)
  }
}

function unreadable({ name }: Register): LeaseError {
  const what = name === '' ? 'the token floor' : `the record of ${name}`
  return new LeaseError('store-failed', `${what} is damaged or of another version; it was left as it is`, {
    resource: name,
  })
}

function decodeWrite(resource: string, value: Record<string, unknown>): StoredWrite | null {
  const { version, before: state, type, intent } = value
  if (version !== VERSION || !isObject(intent)) return null
  const before = decodeState(resource, state)
  const isKnown = typeof type === 'string' && Object.hasOwn(isIntent, type)
  const isMeant = isKnown && isIntent[type as IntentType](intent)
  if (!before || !isMeant) return null
  const { share: stored } = intent as { share?: number | null }
  const share = decodeShare(stored) ?? undefined
  return { before, type, intent: { ...intent, share } } as StoredWrite
}

function decodeState(resource: string, value: unknown): LeaseRow | null {
  const { token, endedAt, leases: stored } = Object(value)
  const leases = decodeLeases(stored)
  if (!leases || !Number.isSafeInteger(token) || !Number.isFinite(endedAt)) return null
  return { ...newRow(resource, token), endedAt, leases }
}

const isIntent: { readonly [Type in IntentType]: (intent: Record<string, unknown>) => boolean } = {
  acquire: ({ id, owner, ttl, metadata, share, atLeast, lockDelay, replace }) =>
    areTexts(id, owner) &&
    Number.isFinite(ttl) &&
    (metadata === undefined || metadata === null || isObject(metadata)) &&
    (share === null || share === undefined || isShare(share)) &&
    [atLeast, lockDelay].every((ms) => ms === undefined || Number.isFinite(ms)) &&
    (replace === undefined || replace === 'any' || Number.isFinite(replace)),
  renew: ({ id, ttl }) => areTexts(id) && Number.isFinite(ttl),
  release: ({ id, token }) => areTexts(id) || Number.isFinite(token),
  expire: ({ tokens }) => Array.isArray(tokens) && tokens.every(Number.isFinite),
}

function areTexts(...values: unknown[]): boolean {
  return values.every((value) => typeof value === 'string')
}
