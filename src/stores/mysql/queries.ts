import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { encodeShare } from '../../base/share.ts'
import { compareUtf8 } from '../../base/utf8-order.ts'
import {
  bytes,
  MYSQL_CLOCK as CLOCK,
  hexDigits,
  type MysqlDatabase,
  type MysqlRow,
  mysqlText as text,
} from '../../clients/mysql.ts'
import { isDeadlock } from '../../clients/mysql-errors.ts'
import { malformedAnswer } from '../../clients/store-error.ts'
import type {
  Answer,
  Ask,
  Grant,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  WaitingQuery,
  WaitingQueue,
} from '../../core/index.ts'
import { cursorOf } from '../lease-page.ts'
import { REPLACE_ANY } from './full-transitions.ts'
import type { Names } from './names.ts'
import { DEADLOCK_TRIES, MAX_ID_BYTES } from './options.ts'
import {
  LEASE_COLUMNS,
  leaseOf,
  leasesIn,
  type Message,
  messageOf,
  millis,
  numbersIn,
  ROW_LEASE,
  shareOf,
  shownIn,
  unexpected,
  type Wake,
} from './rows.ts'
import { MANY, MILLISECOND, TAKES_UNTIL } from './units.ts'

/** Without a limit of its own, a statement has that of the session: `sql_select_limit`. */
const ALL = `limit ${MANY}`
/** No text in UTF-8 contains it, so it follows every name with the same beginning. */
const AFTER_ALL = 'ff'

interface Heard {
  readonly wasGone: boolean
  readonly lapsed: boolean
}

/** Each is one statement. */
export class Queries {
  readonly #database: MysqlDatabase
  readonly #names: Names

  constructor(database: MysqlDatabase, names: Names) {
    this.#database = database
    this.#names = names
  }

  /** `channel`: where the caller's process is told. */
  async acquire(ask: Ask, channel: string): Promise<Answer> {
    const { resource, id, owner, ttl, wake, share, atLeast = 0, lockDelay = 0, replace } = ask
    const metadata = ask.metadata ? JSON.stringify(ask.metadata) : null
    const rows = await this.#call(
      'acquire',
      bytes(resource),
      idOf(id),
      bytes(owner),
      micros(ttl),
      metadata ? bytes(metadata) : 'null',
      bytes(channel),
      String(wake !== undefined),
      String(encodeShare(share)),
      micros(atLeast),
      micros(lockDelay),
      String(replace === 'any' ? REPLACE_ANY : (replace ?? null)),
    )
    if (rows.length === 0) throw malformedAnswer('MySQL', undefined)
    const [{ outcome, granted, place, retry_in, kept_for } = {}] = rows
    if (granted !== undefined) return { granted: true, lease: grantedLease(ask, granted) }
    const { held, ended } = leasesIn(rows)
    if (outcome === 'refused')
      return {
        granted: false,
        holders: held,
        place: place === null ? null : Number(place),
        retryIn: millis(retry_in),
        ...(kept_for !== null && { keptFor: millis(kept_for) }),
      }
    const [lease] = held
    if (!lease) throw unexpected('acquire', rows)
    const replaced = ended.at(-1)
    return { granted: true, lease, ...(replaced && { replaced }) }
  }

  /** All of them, or none. */
  async acquireAll(asks: readonly Ask[], channel: string): Promise<readonly Grant[] | null> {
    const inOrder = asks.toSorted((one, other) => compareUtf8(one.resource, other.resource))
    const rows = await this.#call('together', bytes(JSON.stringify(inOrder.map(encodeAsk))), bytes(channel))
    if (rows.some(({ outcome }) => outcome !== undefined)) return null
    const byResource = Map.groupBy(rows, ({ resource }) => text(resource))
    return asks.map((ask) => {
      const answers = byResource.get(ask.resource) ?? []
      const [{ granted } = {}] = answers
      if (granted !== undefined) return { granted: true, lease: grantedLease(ask, granted) }
      const { held, ended } = leasesIn(answers)
      const [lease] = held
      if (!lease) throw unexpected('acquireAll', answers)
      const replaced = ended.at(-1)
      return { granted: true, lease, ...(replaced && { replaced }) }
    })
  }

  async renew({ resource, id, ttl }: RenewAsk): Promise<Renewal> {
    const rows = await this.#call('renew', bytes(resource), idOf(id), micros(ttl))
    const { held } = leasesIn(rows)
    const [lease] = held
    const isRenewed = rows.some(({ outcome }) => outcome !== undefined)
    return isRenewed && lease ? { ok: true, lease } : { ok: false, holders: held }
  }

  /** `wakes`: whose turn it is now, of the waiters of `channel`. Those of others are told by messages. */
  async release(ask: ReleaseAsk, channel: string): Promise<Released & { readonly wakes: readonly Wake[] }> {
    const { resource } = ask
    const by = 'id' in ask ? [idOf(ask.id), 'null'] : ["X''", String(ask.token)]
    const rows = await this.#call('release', bytes(resource), ...by, 'false', bytes(channel))
    const [{ released, owner, metadata } = {}] = rows
    if (released !== undefined && 'id' in ask) {
      const [at, token, acquired_at, expires_at] = numbersIn(released)
      const times = { at, acquired_at, expires_at, span: MANY }
      const row = { state: 'released', token, resource, id: ask.id, owner, metadata, share: null, ...times }
      return { ended: leaseOf(row), holders: [], wakes: [] }
    }
    const { held, ended } = leasesIn(rows)
    const wakes = rows
      .filter(({ wake_in }) => wake_in !== undefined)
      .map(({ id, wake_in }) => ({ id: text(id), inMs: millis(wake_in) }))
    return { ended: ended[0] ?? null, holders: held, wakes }
  }

  /** Gives back the place of a waiter that has gone, but never a lease. */
  async abandon(resource: string, id: string): Promise<void> {
    await this.#call('release', bytes(resource), idOf(id), 'null', 'true', 'null')
  }

  async read(resources: readonly string[]): Promise<LeaseRecord[][]> {
    if (resources.length === 0) return []
    const wanted = [...new Set(resources)].map(bytes).join(', ')
    const rows = await this.#select(this.#shown(`resource in (${wanted})`))
    const found = Map.groupBy(shownIn(rows), ({ resource }) => resource)
    return resources.map((resource) => found.get(resource) ?? [])
  }

  async list({ prefix = '', after, limit }: ListQuery): Promise<LeaseRecord[]> {
    const { resource, token } = cursorOf(after)
    const cursor = bytes(resource)
    const isLater = token < Infinity ? ` or (resource = ${cursor} and token > ${token})` : ''
    const isOnPage = `resource >= ${bytes(prefix)} and resource < X'${bytes(prefix).slice(2, -1)}${AFTER_ALL}'
      and (resource > ${cursor}${isLater})`
    return shownIn(await this.#select(this.#shown(isOnPage, `limit ${limit}`)))
  }

  async waiting({ resources, limit }: WaitingQuery): Promise<WaitingQueue[]> {
    if (resources.length === 0) return []
    const rows = await this.#select(`select * from (
      select w.resource, w.id, w.owner, w.share, count(*) over (partition by w.resource) as total,
        row_number() over (partition by w.resource order by w.place) - 1 as ahead
      from ${this.#names.waiters} w join ${this.#names.channels} c on c.channel = w.channel and c.alive_until > ${CLOCK}
      where w.resource in (${resources.map(bytes).join(', ')})
    ) queue where ahead < ${Math.max(limit, 1)} order by resource, ahead ${ALL}`)
    const queues = Map.groupBy(rows, ({ resource }) => text(resource))
    return resources.map((resource) => {
      const queue = queues.get(resource) ?? []
      const first = queue.slice(0, limit).map(({ id, owner, share, ahead }) => ({
        id: text(id),
        owner: text(owner),
        share: shareOf(share),
        place: Number(ahead),
      }))
      const [{ total = 0 } = {}] = queue
      return { count: Number(total), first }
    })
  }

  async sweep(limit: number): Promise<LeaseRecord[]> {
    const swept = leasesIn(await this.#call('sweep', String(limit))).ended
    await this.prune()
    return swept
  }

  /** `wasGone`: it was not heard of for too long. `lapsed`: until now, changes were not announced to it. */
  async hear(channel: string, watches: boolean): Promise<Heard> {
    const [{ was_gone, lapsed } = {}] = await this.#call('hear', bytes(channel), String(watches))
    return { wasGone: Number(was_gone) !== 0, lapsed: Number(lapsed) !== 0 }
  }

  /** Changes are no longer announced to this process. */
  async unwatch(channel: string): Promise<void> {
    await this.#database.query(
      `update ${this.#names.channels} set watch_until = 0 where channel = ${bytes(channel)}`,
    )
  }

  async fetch(channel: string, limit: number): Promise<Message[]> {
    const rows =
      await this.#select(`select seq, kind, wake_in, ${CLOCK} as at, ${LEASE_COLUMNS} from ${this.#names.messages}
      where channel = ${bytes(channel)} order by seq limit ${limit}`)
    return rows.map(messageOf)
  }

  async discard(seqs: readonly number[]): Promise<void> {
    await this.#database.query(`delete from ${this.#names.messages} where seq in (${seqs.join(', ')})`)
  }

  /** Deletes rows that nobody needs. */
  async prune(): Promise<void> {
    await this.#call('postpone')
    await this.#call('prune')
  }

  async #call(name: string, ...args: readonly string[]): Promise<readonly MysqlRow[]> {
    const text = `call ${this.#names.procedure(name)}(${args.join(', ')})`
    for (let tries = 1; ; tries++) {
      try {
        return await this.#select(text)
      } catch (error) {
        if (tries >= DEADLOCK_TRIES || !isDeadlock(error)) throw error
      }
    }
  }

  async #select(text: string): Promise<readonly MysqlRow[]> {
    return (await this.#database.query(text)).flat()
  }

  /** The leases in both tables that are live or keep their resource. `shownIn` tells which is which. */
  #shown(where: string, limit = ALL): string {
    const { table, holders } = this.#names
    const order = `order by resource, token ${limit}`
    return `(select ${CLOCK} as at, ${ROW_LEASE}, null as kept_until, 0 as at_least, 0 as lock_delay from ${table}
        where expires_at > ${CLOCK} and ${where} ${order}) union all
      (select ${CLOCK}, ${LEASE_COLUMNS}, kept_until, at_least, lock_delay from ${holders}
        where ${TAKES_UNTIL} > ${CLOCK} and ${where} ${order}) ${order}`
  }
}

/** The short answer of a procedure: the time and the token. */
function grantedLease({ resource, id, owner, ttl, ...ask }: Ask, granted: unknown): LeaseRecord {
  const [at, token] = numbersIn(granted)
  const metadata = ask.metadata ? JSON.stringify(ask.metadata) : null
  const span = Number(micros(ttl))
  const times = { at, acquired_at: at, expires_at: Number(at) + span, span }
  return leaseOf({ state: 'held', token, resource, id, owner, metadata, share: null, ...times })
}

/** As the procedure for several requests takes one of them. */
function encodeAsk({ resource, id, owner, ttl, metadata, share, atLeast = 0, lockDelay = 0 }: Ask): object {
  return {
    resource: hexDigits(resource),
    id: hexDigits(checkId(id)),
    owner: hexDigits(owner),
    ttl: Number(micros(ttl)),
    ...(metadata && { metadata: hexDigits(JSON.stringify(metadata)) }),
    ...(share && { share: encodeShare(share) }),
    atLeast: Number(micros(atLeast)),
    lockDelay: Number(micros(lockDelay)),
  }
}

function idOf(id: string): string {
  return bytes(checkId(id))
}

function checkId(id: string): string {
  if (new TextEncoder().encode(id).length > MAX_ID_BYTES)
    throw new LeaseError('invalid-argument', `id: expected at most ${MAX_ID_BYTES} bytes, got ${id.length}`)
  return id
}

function micros(ms: number): string {
  return String(Math.round(ms * MILLISECOND))
}
