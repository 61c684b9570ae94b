/**
 * Steps that several procedures share, on the variables that `inTransaction` declares. They are texts and not
 * procedures, because a call costs about as much as a statement.
 */
import type { Names } from './names.ts'
import { TAKES_UNTIL } from './units.ts'

export const LEASE_COLUMNS = 'resource, token, id, owner, metadata, share, acquired_at, expires_at, span'
/** The same of a lease that is in the row of its resource. */
export const ROW_LEASE = LEASE_COLUMNS.replace('share', 'null as share')
/** For the row of a resource: it contains no lease. */
export const NO_LEASE =
  'id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null, channel = null'

export const OWN = 'resource = _resource'

/** Whatever `completion_type` says, no transaction follows, and the connection stays. */
const NO_MORE = 'and no chain no release'

/**
 * A transaction with one reading of the clock, `_at`. Sets the isolation level first. That fails within a transaction
 * of the application, which `start transaction` would commit. An error of a statement would otherwise leave the
 * transaction open, with its locks.
 */
export function inTransaction(declarations: string, body: string): string {
  return `sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  ${declarations}
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback ${NO_MORE}; resignal; end;
    start transaction;
    ${body}
    commit ${NO_MORE};
  end;
end`
}

/** 'utc_timestamp' would be frozen at the start of the statement, and 'sysdate' follows the time zone of the session. */
export const readClock = `set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;`

/** Shared with all others who change leases. A new watcher, and whoever raises the floor, waits for them. */
export function shareMeta({ meta }: Names): string {
  return `select floor, watch_until > _at into _floor, _watched from ${meta} where one = 1 lock in share mode;
    if _floor is null then
      signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
    end if;`
}

/** Tells watchers of the lease in the row of the resource. */
export function announce({ table, channels, messages }: Names, state: 'held' | 'released'): string {
  return `if _watched then
        insert into ${messages} (channel, sent_at, kind, ${LEASE_COLUMNS})
          select c.channel, _at, '${state}', ${ROW_LEASE}
          from ${table} t join ${channels} c on c.watch_until > _at where ${OWN};
      end if;`
}

/** Gives the lease in the row of the resource a row of its own. */
export function moveLease({ table, holders }: Names): string {
  return `if not _has_rows then
      insert into ${holders} (${LEASE_COLUMNS}, at_least, lock_delay, channel)
        select ${ROW_LEASE}, 0, 0, channel from ${table} where ${OWN} and id is not null;
      update ${table} set has_rows = true, ${NO_LEASE} where ${OWN};
    end if;`
}

/** When each lease that takes room and each reservation ends, as `till`. */
export function ends({ holders, waiters }: Names): string {
  return `(select ${TAKES_UNTIL} as till from ${holders} where ${OWN} and ${TAKES_UNTIL} > _at
      union all select reserved_until from ${waiters} where ${OWN} and reserved_until > _at) ends`
}

/**
 * When the first waiter without a reservation may have its turn at the earliest, of a row of waiters: a shared one when
 * the first lease or reservation ends, an exclusive one when the last does.
 */
export function turnIn(names: Names): string {
  return `(select if(share is null, max(till), min(till)) - _at from ${ends(names)})`
}

/** From now on, the row of the resource is enough for it again. */
export function dropRows({ table, holders, waiters }: Names): string {
  return `if not exists (select 1 from ${holders} where ${OWN}) and not exists (select 1 from ${waiters} where ${OWN}) then
      update ${table} set has_rows = false where ${OWN};
    end if;`
}
