/**
 * Where and how Redis keeps a resource. It has one key of its own, a second one while somebody waits for it, a third
 * one while it is shared, and two that it shares with the other resources of its shard. All times are microseconds of
 * the server's clock.
 *
 *     row      string  the state of the resource, see `FREE_ROW`, `LEASE` and `SHARED`
 *     queue    zset    two members with the same score for each waiter, `<id>` and `<id> <channel> [<share> ]<owner>`
 *     shared   hash    the leases and reservations of a shared row, see `SHARED`
 *     index    zset    `name:<resource>`, `due:<time> <resource>` and `floor:<token>`, ordered by bytes
 *     watched  string  exists while somebody watches
 *
 * A released row stays for a while. It keeps the last token and the row's entry in the index, so that the next grant
 * and release touch nothing but the row. When a row is deleted, its token becomes the floor for every new row of the
 * shard.
 */
import { isObject } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { decodeShare, encodeShare, isShare } from '../../base/share.ts'
import type { Ask, WaitingRecord } from '../../core/index.ts'

/**
 * The fields of a row, separated by spaces, as a Lua pattern: `%d` and `%S` mean what `\d` and `\S` mean in a regular
 * expression.
 *
 * - kind: `F` if nobody waits. `W<until>:<id>` if somebody waits, with the reservation for the first waiter, or `W0:`
 *   without one. `S` in a shared row, `SW` if somebody waits.
 * - token: the token of the last grant.
 * - due: the time of the row's entry in the index: not after the end of a lease, nor more than an hour before it.
 */
export const FREE_ROW = '(%S+) (%d+) (%d+)'
/**
 * The fields that follow while the row has a lease, or one that expired and was returned to nobody yet. The rest of
 * the row is what `packAbout` returns.
 *
 * - acquired: when it was granted.
 * - since, span: it ends at `since + span`. `span` is the most that a clock that steps back may leave to it.
 * - channel: where its holder listens.
 * - id: see `packId`.
 */
export const LEASE = '(%d+) (%d+) (%d+) (%S+) (%S+)'
/**
 * The fields that follow in a shared row. A row is shared while it has more than one exclusive lease and one exclusive
 * reservation. Versions that know no shared leases take such a row for a malformed one, and grant nothing.
 *
 * - lapsed: how many leases have expired and were returned to nobody yet.
 * - changes: the earliest time at which one of these numbers can change although nothing is written.
 * - saved: when the row was saved. An earlier time means that the clock stepped back.
 * - ends: after this time, none of the leases takes room.
 * - held: `<share>x<count>,` for every share among the leases that take room. An exclusive one has share 1.
 * - reserved: the same for the reservations.
 *
 * The hash has these fields:
 *
 *     <id>          a lease, in the form of a row. Its kind is `LEASE_KIND`, its `due` is 0
 *     kept <token>  the same, for a lease that has ended and keeps the resource
 *     for <id>      the reservation of a waiter: `<until> <share>`
 */
export const SHARED = '(%d+) (%d+) (%d+) (%d+) held:(%S*) reserved:(%S*)'
/** share (empty: exclusive), atLeast, lockDelay, and until when it keeps the resource after its end (0: not ended). */
export const LEASE_KIND = 'S(%d*):(%d+):(%d+):(%d+)'
/**
 * The same row while nobody waits, in the parts that the short path needs. Each capture is a new string, and together
 * they take most of its time.
 *
 * - token and due of a free row.
 * - the free row, since and span, each of them, and channel and id of a row with a lease.
 */
export const UNWAITED_FREE_ROW = 'F (%d+) (%d+)'
export const UNWAITED_HELD_ROW = '(F %d+ %d+) %d+ ((%d+) (%d+)) (%S+ %S+) '

/** The channel and the share of a waiter, in the second of its members. */
export const WAITER = '^%S+ (%S+) (%d*)'

const FREE_TEXT = regExp(FREE_ROW)
const HELD_TEXT = regExp(`${FREE_ROW} ${LEASE} (.+)`)
/** The answer to a release by the process that holds the lease and knows the rest of it: since and span. */
const ENDED_TIMES = regExp('(%d+) (%d+)')
const WAITER_TEXT = /^(\S+) \S+ (?:(\d+) )?(".*")$/s
const SHARE = /^S(\d+):/
const HAS_ENDED = /^S\d*:\d+:\d+:[1-9]/
const CHANGE = /^(?:(held|released|expired|taken-over)|kept (\d+)) (.+)$/s
const KEEPING = regExp(LEASE_KIND)

/** Escapes the spaces in an id, because spaces separate the fields of a row. Most ids need no escape. */
export function packId(id: string): string {
  return /^[\w-]+$/.test(id) ? id : encodeURIComponent(id)
}

export function packSpan(ms: number): string {
  return String(Math.round(ms * 1000))
}

/** The last four fields of a row. */
export function packLease(ask: Ask, channel: string): string {
  return `${packSpan(ask.ttl)} ${channel} ${packId(ask.id)} ${packAbout(ask)}`
}

/** What others are shown of a lease, besides its times and its token. */
function packAbout({ resource, id, owner, metadata }: Ask): string {
  return JSON.stringify({ resource, id, owner, metadata })
}

/** What a lease has that an exclusive one does not have: its share, `atLeast` and `lockDelay`. Empty: nothing. */
export function packTerms({ share, atLeast = 0, lockDelay = 0 }: Ask): string {
  if (!share && !atLeast && !lockDelay) return ''
  return `${encodeShare(share) ?? ''} ${packSpan(atLeast)} ${packSpan(lockDelay)}`
}

/** The end of the second member of a waiter. The owner is JSON, which keeps every text. */
export function packWaiter({ owner, share }: Ask): string {
  return `${share ? `${encodeShare(share)} ` : ''}${JSON.stringify(owner)}`
}

/** The second member of a waiter. `null` if it is malformed. */
export function unpackWaiter(member: unknown): Omit<WaitingRecord, 'place'> | null {
  const [, id = '', share, packed = ''] = WAITER_TEXT.exec(String(member)) ?? []
  try {
    const owner: unknown = JSON.parse(packed)
    if (typeof owner !== 'string') return null
    const allowed = unpackShare(share)
    if (allowed !== null && !isShare(allowed)) return null
    return { id: decodeURIComponent(id), owner, share: allowed }
  } catch {
    return null
  }
}

/** The lease in a row at `now`, or at the time of its last change. Throws if the row is damaged. */
export function unpack(row: string, state: LeaseRecord['state'], now?: number): LeaseRecord {
  const [, kind = '', token, , acquired, since, span, , , packed] = HELD_TEXT.exec(row) ?? []
  const about = parse(packed)
  const share = unpackShare(SHARE.exec(kind)?.[1])
  const areNumbers = [token, acquired, since, span].every((text) => Number.isSafeInteger(Number(text)))
  if (!isAbout(about) || !areNumbers || !(share === null || isShare(share))) throw damaged(row)
  const { resource, id, owner, metadata } = about
  const at = now ?? Number(since)
  const ends = Math.min(Number(since), at) + Number(span)
  return {
    resource,
    id,
    owner,
    token: Number(token),
    metadata: metadata ?? null,
    share,
    acquiredAt: Math.floor(Number(acquired) / 1000),
    expiresAt: Math.floor(ends / 1000),
    remaining: state === 'held' ? (ends - at) / 1000 : 0,
    state,
  }
}

/** The lease that was ended: a row or, if this process knows the lease, its last times. */
export function unpackEnded(
  text: string,
  state: LeaseRecord['state'],
  now: number,
  known: LeaseRecord | null,
): LeaseRecord {
  const [, since, span] = ENDED_TIMES.exec(text) ?? []
  if (!known || !since) return unpack(text, state, now)
  const ends = Number(since) + Number(span)
  return { ...known, expiresAt: Math.floor(ends / 1000), remaining: 0, state }
}

/** The lease in a row if it has one and that is live. `row` is empty if there is no row. */
export function unpackLive(row: string, now: number): LeaseRecord | null {
  if (row === '' || FREE_TEXT.test(row) || HAS_ENDED.test(row)) return null
  const lease = unpack(row, 'held', now)
  return lease.remaining && lease.remaining > 0 ? lease : null
}

/** The live leases among these texts, oldest first. */
export function unpackHolders(rows: readonly string[], now: number): LeaseRecord[] {
  return byToken(rows.map((row) => unpackLive(row, now)))
}

/** The live leases among these texts, and those that have ended and keep the resource, oldest first. */
export function unpackShown(rows: readonly string[], now: number): LeaseRecord[] {
  return byToken(rows.map((row) => unpackLive(row, now) ?? unpackKept(row, now)))
}

/** A message to watchers: `<state> <row>` or `kept <time> <row>`. Throws if it is malformed. */
export function unpackChange(message: string): LeaseRecord {
  const [, state, time, row = ''] = CHANGE.exec(message) ?? []
  return (time && unpackKept(row, Number(time))) || unpack(row, state as LeaseRecord['state'])
}

/** The lease in a row if it has ended and keeps the resource. Also if nobody has noticed yet that it expired. */
function unpackKept(row: string, now: number): LeaseRecord | null {
  const [, kind = '', , , acquired, since, span] = HELD_TEXT.exec(row) ?? []
  const [atLeast, lockDelay, kept] = (KEEPING.exec(kind) ?? []).slice(2).map(Number)
  if (atLeast === undefined || lockDelay === undefined) return null
  const lapsed = Number(since) + Number(span) + lockDelay
  const until = kept || Math.max(lapsed, atLeast > 0 ? Number(acquired) + atLeast : 0)
  if (!Number.isSafeInteger(until)) throw damaged(row)
  const left = Math.min(until - now, Math.max(atLeast, lockDelay))
  if (left <= 0) return null
  const expiresAt = Math.floor((now + left) / 1000)
  return { ...unpack(row, 'kept', now), expiresAt, remaining: left / 1000 }
}

function byToken(leases: readonly (LeaseRecord | null)[]): LeaseRecord[] {
  return leases.filter((lease) => lease !== null).sort((one, other) => one.token - other.token)
}

function unpackShare(share: string | undefined): number | null {
  return share === undefined ? null : decodeShare(Number(share))
}

function regExp(luaPattern: string): RegExp {
  return new RegExp(`^${luaPattern.replaceAll('%', '\\')}$`, 's')
}

function parse(about: string | undefined): Partial<LeaseRecord> {
  try {
    return Object(JSON.parse(about ?? ''))
  } catch {
    return {}
  }
}

type About = Pick<LeaseRecord, 'resource' | 'id' | 'owner'> & Partial<Pick<LeaseRecord, 'metadata'>>

function isAbout(about: Partial<LeaseRecord>): about is About {
  const { resource, id, owner, metadata = null } = about
  return (
    [resource, id, owner].every((text) => typeof text === 'string') &&
    (metadata === null || isObject(metadata))
  )
}

function damaged(row: string): LeaseError {
  return new LeaseError('store-failed', `Redis: a value is not a lease: ${JSON.stringify(row.slice(0, 80))}`)
}
