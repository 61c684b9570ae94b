/**
 * The transitions of `lease-row.ts` as procedures, so that each operation of the store takes one round trip.
 *
 * Each locks the row of the resource first and reads the clock once, after that. Whoever changes a lease then shares a
 * lock on the row of the meta table, for which a new watcher waits: no change is missed. All lock in this order, and
 * those that lock several resources skip the ones that are locked.
 *
 * Most resources have one exclusive lease and nobody waits. Such a lease is in the row of its resource, and the
 * procedures below read and write that row only. If there is more to do, the procedures of `full-transitions.ts` take
 * over. They give every lease and waiter a row of its own, until the last one has left.
 *
 * A procedure answers with rows: one with its `outcome`, leases with their `state`, and waiters to wake with `wake_in`.
 * The short answers, `granted` and `released`, are lists of numbers, because each column costs a packet.
 */
import type { Names } from './names.ts'
import { announce, inTransaction, NO_LEASE, OWN, ROW_LEASE, readClock, shareMeta } from './steps.ts'
import { MANY } from './units.ts'

/** By the name of the procedure: its parameters and its body. */
export function transitions(names: Names): Readonly<Record<string, string>> {
  const { table, procedure } = names
  const variables = `declare _holder varbinary(512);
  declare _until, _span bigint;
  declare _has_rows, _is_settled boolean default false;`
  const lock = (columns = '', into = '') => `select token, has_rows, id, expires_at, span${columns}
      into _token, _has_rows, _holder, _until, _span${into} from ${table} where ${OWN} for update;`
  // Not settled if the lease has expired, or if the clock stepped back so that it must be cut.
  const begin = `${readClock}
    ${shareMeta(names)}
    set _is_settled = not _has_rows and (_holder is null or (_until > _at and _until <= _at + _span));`
  const isPlain = '_share is null and _at_least = 0 and _lock_delay = 0'
  const grant = (token: string) => `update ${table} set token = ${token}, id = _id, owner = _owner,
      metadata = _metadata, acquired_at = _at, expires_at = _at + _ttl, span = _ttl, channel = _channel,
      due_at = least(due_at, _at + _ttl) where ${OWN}`
  const granted = `${announce(names, 'held')}
      select concat_ws(' ', _at, _token) as granted;`
  const extend = `set _until = greatest(_until, _at + _ttl);
      update ${table} set expires_at = _until, span = _until - _at where ${OWN};
      ${announce(names, 'held')}`
  const shownLease = `select _at as at, 'held' as state, ${ROW_LEASE} from ${table} where ${OWN} and id is not null;`

  return {
    acquire: `(_resource varbinary(512), _id varbinary(512), _owner mediumblob, _ttl bigint, _metadata mediumblob,
  _channel varbinary(64), _waits boolean, _share bigint, _at_least bigint, _lock_delay bigint, _replace bigint)
${inTransaction(
  variables,
  `${readClock}
    set _token = _at;
    -- Only if the clock was read after the last lease had ended: this may have waited for the row since then.
    ${grant('_at')} and id is null and not has_rows and ended_at <= _at and token < _at and ${isPlain};
    if row_count() = 1 then
      ${shareMeta(names)}
      ${granted}
    else
      set _token = null;
      ${lock()}
      if _token is null then
        insert into ${table} (resource, token, ended_at, last_place, has_rows, due_at)
          values (_resource, 0, 0, 0, false, ${MANY}) on duplicate key update last_place = last_place;
        ${lock()}
      end if;
      ${begin}
      if _is_settled and _holder is null and ${isPlain} then
        set _token = greatest(_token + 1, _floor + 1, _at);
        ${grant('_token')};
        ${granted}
      elseif _is_settled and _holder = _id then
        update ${table} set channel = _channel where ${OWN} and channel <> _channel;
        ${extend}
        ${shownLease}
      elseif _is_settled and _holder is not null and not _waits and _replace is null then
        select 'refused' as outcome, null as place, _until - _at as retry_in, null as kept_for;
        ${shownLease}
      else
        call ${procedure('ask')}(_resource, _id, _owner, _ttl, _metadata, _channel, _waits, _share, _at_least,
          _lock_delay, _replace, _has_rows, _token, _floor, _at, _watched);
      end if;
    end if;`,
)}`,

    renew: `(_resource varbinary(512), _id varbinary(512), _ttl bigint)
${inTransaction(
  variables,
  `${lock()}
    ${begin}
    if _is_settled then
      if _holder = _id then
        ${extend}
        select 'renewed' as outcome;
      end if;
      ${shownLease}
    else
      call ${procedure('prolong')}(_resource, _id, _ttl, _has_rows, _at, _watched);
    end if;`,
)}`,

    // '_forced': a token, instead of an id. '_channel': of the caller. Its waiters are in the answer.
    release: `(_resource varbinary(512), _id varbinary(512), _forced bigint, _only_place boolean,
  _channel varbinary(64))
${inTransaction(
  `${variables}
  declare _owner, _metadata mediumblob;
  declare _acquired bigint;`,
  `${lock(', owner, metadata, acquired_at', ', _owner, _metadata, _acquired')}
    ${begin}
    if _is_settled and _holder = _id and not _only_place then
      ${announce(names, 'released')}
      update ${table} set ended_at = _at, ${NO_LEASE} where ${OWN};
      select concat_ws(' ', _at, _token, _acquired, _until) as released, _owner as owner, _metadata as metadata;
    elseif _is_settled and (_forced is null or _holder is null) then
      ${shownLease}
    else
      call ${procedure('free')}(_resource, _id, _forced, _only_place, _channel, _has_rows, _at, _watched);
    end if;`,
)}`,
  }
}
