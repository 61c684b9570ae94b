/**
 * The transitions of `lease-row.ts` as procedures, so that each operation of the store takes one round trip.
 *
 * Each locks the row of the resource first and reads the clock once, after that. A call that changes a lease then shares a
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
import { together } from './together-transitions.ts'
import { MANY } from './units.ts'

/** By the name of the procedure: its parameters and its body. */
export function transitions(names: Names): Readonly<Record<string, string>> {
  return { acquire: acquire(names), together: together(names), renew: renew(names), release: release(names) }
}

function acquire({ table, channels, messages, meta, procedure }: Names): string {
  return `(_resource varbinary(512), _id varbinary(512), _owner mediumblob, _ttl bigint, _metadata mediumblob,
  _channel varbinary(64), _waits boolean, _share bigint, _at_least bigint, _lock_delay bigint, _replace bigint)
sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  declare _holder varbinary(512);
  declare _until, _span bigint;
  declare _has_rows, _is_settled boolean default false;
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    set _token = _at;
    -- Only if the clock was read after the last lease had ended: this may have waited for the row since then.
    update ${table} set token = _at, id = _id, owner = _owner,
      metadata = _metadata, acquired_at = _at, expires_at = _at + _ttl, span = _ttl, channel = _channel,
      due_at = least(due_at, _at + _ttl) where resource = _resource and id is null and not has_rows and ended_at <= _at and token < _at and _share is null and _at_least = 0 and _lock_delay = 0;
    if row_count() = 1 then
      select floor, watch_until > _at into _floor, _watched from ${meta} where one = 1 lock in share mode;
      if _floor is null then
        signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
      end if;
      if _watched then
        insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
          select c.channel, _at, 'held', resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span
          from ${table} t join ${channels} c on c.watch_until > _at where resource = _resource;
      end if;
      select concat_ws(' ', _at, _token) as granted;
    else
      set _token = null;
      select token, has_rows, id, expires_at, span
        into _token, _has_rows, _holder, _until, _span from ${table} where resource = _resource for update;
      if _token is null then
        insert into ${table} (resource, token, ended_at, last_place, has_rows, due_at)
          values (_resource, 0, 0, 0, false, ${MANY}) on duplicate key update last_place = last_place;
        select token, has_rows, id, expires_at, span
          into _token, _has_rows, _holder, _until, _span from ${table} where resource = _resource for update;
      end if;
      set session time_zone = '+00:00';
      set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
      set session time_zone = _zone;
      select floor, watch_until > _at into _floor, _watched from ${meta} where one = 1 lock in share mode;
      if _floor is null then
        signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
      end if;
      set _is_settled = not _has_rows and (_holder is null or (_until > _at and _until <= _at + _span));
      if _is_settled and _holder is null and _share is null and _at_least = 0 and _lock_delay = 0 then
        set _token = greatest(_token + 1, _floor + 1, _at);
        update ${table} set token = _token, id = _id, owner = _owner,
          metadata = _metadata, acquired_at = _at, expires_at = _at + _ttl, span = _ttl, channel = _channel,
          due_at = least(due_at, _at + _ttl) where resource = _resource;
        if _watched then
          insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
            select c.channel, _at, 'held', resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span
            from ${table} t join ${channels} c on c.watch_until > _at where resource = _resource;
        end if;
        select concat_ws(' ', _at, _token) as granted;
      elseif _is_settled and _holder = _id then
        update ${table} set channel = _channel where resource = _resource and channel <> _channel;
        set _until = greatest(_until, _at + _ttl);
        update ${table} set expires_at = _until, span = _until - _at where resource = _resource;
        if _watched then
          insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
            select c.channel, _at, 'held', resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span
            from ${table} t join ${channels} c on c.watch_until > _at where resource = _resource;
        end if;
        select _at as at, 'held' as state, resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span from ${table} where resource = _resource and id is not null;
      elseif _is_settled and _holder is not null and not _waits and _replace is null then
        select 'refused' as outcome, null as place, _until - _at as retry_in, null as kept_for;
        select _at as at, 'held' as state, resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span from ${table} where resource = _resource and id is not null;
      else
        call ${procedure('ask')}(_resource, _id, _owner, _ttl, _metadata, _channel, _waits, _share, _at_least,
          _lock_delay, _replace, _has_rows, _token, _floor, _at, _watched);
      end if;
    end if;
    commit and no chain no release;
  end;
end`
}

function renew({ table, channels, messages, meta, procedure }: Names): string {
  return `(_resource varbinary(512), _id varbinary(512), _ttl bigint)
sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  declare _holder varbinary(512);
  declare _until, _span bigint;
  declare _has_rows, _is_settled boolean default false;
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    select token, has_rows, id, expires_at, span
      into _token, _has_rows, _holder, _until, _span from ${table} where resource = _resource for update;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    select floor, watch_until > _at into _floor, _watched from ${meta} where one = 1 lock in share mode;
    if _floor is null then
      signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
    end if;
    set _is_settled = not _has_rows and (_holder is null or (_until > _at and _until <= _at + _span));
    if _is_settled then
      if _holder = _id then
        set _until = greatest(_until, _at + _ttl);
        update ${table} set expires_at = _until, span = _until - _at where resource = _resource;
        if _watched then
          insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
            select c.channel, _at, 'held', resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span
            from ${table} t join ${channels} c on c.watch_until > _at where resource = _resource;
        end if;
        select 'renewed' as outcome;
      end if;
      select _at as at, 'held' as state, resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span from ${table} where resource = _resource and id is not null;
    else
      call ${procedure('prolong')}(_resource, _id, _ttl, _has_rows, _at, _watched);
    end if;
    commit and no chain no release;
  end;
end`
}

function release({ table, channels, messages, meta, procedure }: Names): string {
  return `(_resource varbinary(512), _id varbinary(512), _forced bigint, _only_place boolean,
  _channel varbinary(64))
sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  declare _holder varbinary(512);
  declare _until, _span bigint;
  declare _has_rows, _is_settled boolean default false;
  declare _owner, _metadata mediumblob;
  declare _acquired bigint;
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    select token, has_rows, id, expires_at, span, owner, metadata, acquired_at
      into _token, _has_rows, _holder, _until, _span, _owner, _metadata, _acquired from ${table} where resource = _resource for update;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    select floor, watch_until > _at into _floor, _watched from ${meta} where one = 1 lock in share mode;
    if _floor is null then
      signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
    end if;
    set _is_settled = not _has_rows and (_holder is null or (_until > _at and _until <= _at + _span));
    if _is_settled and _holder = _id and not _only_place then
      if _watched then
        insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
          select c.channel, _at, 'released', resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span
          from ${table} t join ${channels} c on c.watch_until > _at where resource = _resource;
      end if;
      update ${table} set ended_at = _at, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null, channel = null where resource = _resource;
      select concat_ws(' ', _at, _token, _acquired, _until) as released, _owner as owner, _metadata as metadata;
    elseif _is_settled and (_forced is null or _holder is null) then
      select _at as at, 'held' as state, resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span from ${table} where resource = _resource and id is not null;
    else
      call ${procedure('free')}(_resource, _id, _forced, _only_place, _channel, _has_rows, _at, _watched);
    end if;
    commit and no chain no release;
  end;
end`
}
