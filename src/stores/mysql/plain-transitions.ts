/**
 * The usual transitions as one plain statement each, which costs the server about half as much as a procedure: one
 * exclusive lease in the row of its resource, nobody waits, and nobody watches. A statement that finds another state
 * changes nothing, and the procedures of `transitions.ts` decide.
 *
 * The clock is frozen at the start of the statement, before it has the lock of the row. So a free resource is taken only
 * if the last lease had ended by then. `last_insert_id(n)` returns a number to the client without a second statement.
 *
 * A new watcher waits for the lock on the row of the meta table, as with the procedures. Here that lock may come before
 * the one of the resource, so a deadlock is possible in theory. Then the procedure decides.
 */
import { MYSQL_CLOCK as CLOCK, hexDigits, type MysqlDatabase, type MysqlValue } from '../../clients/mysql.ts'
import { isDeadlock } from '../../clients/mysql-errors.ts'
import type { Ask, LeaseRecord } from '../../core/index.ts'
import type { Names } from './names.ts'
import { MAX_RELEASED } from './options.ts'
import { leaseOf } from './rows.ts'
import { MILLISECOND } from './units.ts'

/** `null`: the state is another one, so the procedure decides. */
export interface PlainTransitions {
  /** `channel`: where the caller's process is told. */
  acquire(ask: Ask, channel: string): Promise<LeaseRecord | null>
  release(lease: LeaseRecord): Promise<LeaseRecord | null>
  renew(lease: LeaseRecord, ttl: number): Promise<LeaseRecord | null>
}

type Execute = NonNullable<MysqlDatabase['execute']>

/** The procedures decide always. */
export const NO_PLAIN_TRANSITIONS: PlainTransitions = {
  acquire: async () => null,
  release: async () => null,
  renew: async () => null,
}

export function plainTransitionsOf(database: MysqlDatabase, names: Names): PlainTransitions {
  const { execute } = database
  return execute ? transitionsOf(execute, names) : NO_PLAIN_TRANSITIONS
}

function transitionsOf(execute: Execute, names: Names): PlainTransitions {
  const { acquireFree, acquireAgain, releaseHeld, renewHeld } = statementsOf(names)
  /** Resources whose leases were released here. Their rows stay for a while. */
  const released = new Set<string>()

  /** What it passed to `last_insert_id`, if it has changed a row. */
  async function change(statement: string, values: readonly MysqlValue[]): Promise<number | null> {
    try {
      const changed = await execute(statement, values)
      return changed.affectedRows > 0 ? changed.insertId : null
    } catch (error) {
      if (isDeadlock(error)) return null
      throw error
    }
  }

  return {
    async acquire(ask, channel) {
      const { resource, id, owner } = ask
      const metadata = ask.metadata ? JSON.stringify(ask.metadata) : null
      const span = Math.round(ask.ttl * MILLISECOND)
      const texts = [id, owner, metadata, channel, resource].map((text) => text && hexDigits(text))
      const times = [span, span, span]
      const at = released.delete(resource)
        ? await change(acquireAgain, [...times, ...texts])
        : await change(acquireFree, [...times, ...texts])
      if (!at) return null
      const granted = { at, token: at, acquired_at: at, expires_at: at + span, span }
      return leaseOf({ state: 'held', resource, id, owner, metadata, share: null, ...granted })
    },

    async release(lease) {
      const expiry = await change(releaseHeld, [hexDigits(lease.resource), lease.token])
      if (!expiry) return null
      if (released.size >= MAX_RELEASED) released.clear()
      released.add(lease.resource)
      return { ...lease, expiresAt: Math.floor(expiry / MILLISECOND), remaining: 0, state: 'released' }
    },

    async renew(lease, ttl) {
      const span = Math.round(ttl * MILLISECOND)
      const expiry = await change(renewHeld, [span, span, hexDigits(lease.resource), lease.token, span])
      if (!expiry) return null
      return {
        ...lease,
        expiresAt: Math.floor(expiry / MILLISECOND),
        remaining: Math.floor(span / MILLISECOND),
      }
    },
  }
}

function statementsOf({ table, meta }: Names) {
  const isFree = 'id is null and not has_rows and ended_at <= values(token) and token < values(token)'
  // Each assignment sees those before it. The owner comes first and the id last, so in between a row that is being taken
  // has an owner and no id.
  const isTaken = 'id is null and owner is not null'
  const ifTaken = (column: string) => `${column} = if(${isTaken}, values(${column}), ${column})`
  const nobodyWatches = `(select watch_until from ${meta} where one = 1 lock in share mode) <= ${CLOCK}`
  const isHeld = `resource = unhex(?) and token = cast(? as signed) and not has_rows
      and expires_at > ${CLOCK} and expires_at <= ${CLOCK} + span and ${nobodyWatches}`
  return {
    acquireFree: `insert into ${table} (token, acquired_at, span, expires_at, due_at, id, owner, metadata, channel,
        resource, ended_at, last_place, has_rows)
      select last_insert_id(${CLOCK}), ${CLOCK}, cast(? as signed), ${CLOCK} + cast(? as signed),
        ${CLOCK} + cast(? as signed), unhex(?), unhex(?), unhex(?), unhex(?), unhex(?), 0, 0, false
      from ${meta} where one = 1 and floor < ${CLOCK} and watch_until <= ${CLOCK} lock in share mode
      on duplicate key update owner = if(${isFree}, values(owner), owner),
        token = if(last_insert_id(if(${isTaken}, values(token), 0)) > 0, values(token), token),
        due_at = if(${isTaken}, least(due_at, values(due_at)), due_at),
        ${['metadata', 'channel', 'acquired_at', 'span', 'expires_at', 'id'].map(ifTaken).join(', ')}`,
    // The same for a row that exists, which costs the server less.
    acquireAgain: `update ${table} set token = last_insert_id(${CLOCK}), acquired_at = ${CLOCK},
        span = cast(? as signed), expires_at = ${CLOCK} + cast(? as signed),
        due_at = least(due_at, ${CLOCK} + cast(? as signed)), id = unhex(?), owner = unhex(?), metadata = unhex(?),
        channel = unhex(?)
      where resource = unhex(?) and id is null and not has_rows and ended_at <= ${CLOCK} and token < ${CLOCK}
        and ${nobodyWatches}`,
    // The last assignment is null, and returns what was there.
    releaseHeld: `update ${table} set ended_at = ${CLOCK}, id = null, owner = null, metadata = null, acquired_at = null,
        span = null, channel = null, expires_at = nullif(last_insert_id(expires_at), expires_at)
      where ${isHeld}`,
    renewHeld: `update ${table} set expires_at = last_insert_id(${CLOCK} + cast(? as signed)), span = cast(? as signed)
      where ${isHeld} and expires_at <= ${CLOCK} + cast(? as signed)`,
  }
}

/** Whether it asks for no more than one exclusive lease. */
export function isPlain({ share, atLeast = 0, lockDelay = 0 }: Ask): boolean {
  return share === undefined && atLeast === 0 && lockDelay === 0
}
