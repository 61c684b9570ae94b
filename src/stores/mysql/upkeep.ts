/** Procedures that the transitions share, and those that clean up and register processes. */

import type { Names } from './names.ts'
import { PRUNE_AT_ONCE } from './options.ts'
import {
  ALIVE_FOR,
  CAPACITY,
  IS_LIVE,
  KEEP_FREE,
  KEEP_MESSAGES,
  MANY,
  RESERVATION,
  TAKES_UNTIL,
  WATCH_FOR,
} from './units.ts'

/** By the name of the procedure: its parameters and its body. */
export function upkeep(names: Names): Readonly<Record<string, string>> {
  return {
    settle: settle(names),
    tell: tell(names),
    end: end(names),
    end_expired: endExpired(names),
    sweep: sweep(names),
    postpone: postpone(names),
    prune: prune(names),
    hear: hear(names),
  }
}

function settle({ table, holders, waiters, channels, messages }: Names): string {
  return `(_resource varbinary(512), _at bigint, _channel varbinary(64))
sql security invoker
begin
  declare _taken, _room, _reserved, _place, _capacity, _alive bigint;
  declare _is_stale, _is_missed, _is_new boolean default false;
  counting: loop
    select coalesce(sum(${TAKES_UNTIL} > _at), 0), coalesce(min(if(${TAKES_UNTIL} > _at, ${CAPACITY}, null)), ${MANY}),
        coalesce(max(expires_at > _at + span or (at_least > 0 and acquired_at > _at)
          or kept_until > _at + greatest(at_least, lock_delay) or kept_until <= _at), false)
      into _taken, _room, _is_stale from ${holders} where resource = _resource;
    if not _is_stale then
      leave counting;
    end if;
    -- A clock that stepped back must not lengthen anything.
    update ${holders} set expires_at = least(expires_at, _at + span),
      acquired_at = if(at_least > 0, least(acquired_at, _at), acquired_at),
      kept_until = least(kept_until, _at + greatest(at_least, lock_delay)) where resource = _resource;
    delete from ${holders} where resource = _resource and kept_until <= _at;
    -- It may expire earlier now, and a sweep must find it.
    update ${table} set due_at = 0 where resource = _resource;
  end loop;
  waiting: loop
    select count(*), coalesce(min(${CAPACITY}), ${MANY}), coalesce(max(reserved_until) > _at + ${RESERVATION}, false),
        coalesce(min(reserved_until) <= _at, false)
      into _reserved, _capacity, _is_stale, _is_missed from ${waiters} where resource = _resource and reserved_until is not null;
    if _is_stale then
      update ${waiters} set reserved_until = _at + ${RESERVATION} where resource = _resource and reserved_until > _at + ${RESERVATION};
    end if;
    if not _is_missed then
      leave waiting;
    end if;
    -- A waiter that missed its turn loses its place, with all others of its process. They are told to ask again.
    insert into ${messages} (channel, sent_at, kind, wake_in, resource, id) select w.channel, _at, 'wake', 0, w.resource, w.id
      from ${waiters} w join (select distinct channel from ${waiters} where resource = _resource and reserved_until <= _at) absent on absent.channel = w.channel where w.resource = _resource;
    delete w from ${waiters} w join (select distinct channel from ${waiters} where resource = _resource and reserved_until <= _at) absent on absent.channel = w.channel where w.resource = _resource;
  end loop;
  set _taken = _taken + _reserved;
  set _room = least(_room, _capacity);
  reserving: loop
    set _place = null;
    select w.place, coalesce(w.share, 1), coalesce(c.alive_until, 0) into _place, _capacity, _alive
      from ${waiters} w left join ${channels} c on c.channel = w.channel
      where w.resource = _resource and w.reserved_until is null order by w.place limit 1;
    if _place is null or _taken >= least(_room, _capacity) then
      leave reserving;
    end if;
    if _alive <= _at then
      -- All that are dead leave together, wherever they are in the queue.
      delete w from ${waiters} w left join ${channels} c on c.channel = w.channel
        where w.resource = _resource and w.reserved_until is null and coalesce(c.alive_until, 0) <= _at;
    else
      update ${waiters} set reserved_until = _at + ${RESERVATION} where resource = _resource and place = _place;
      set _taken = _taken + 1;
      set _room = least(_room, _capacity);
      set _is_new = true;
    end if;
  end loop;
  if _is_new then
    insert into ${messages} (channel, sent_at, kind, wake_in, resource, id) select channel, _at, 'wake', if(reserved_until is null, (select if(share is null, max(till), min(till)) - _at from (select ${TAKES_UNTIL} as till from ${holders} where resource = _resource and ${TAKES_UNTIL} > _at
    union all select reserved_until from ${waiters} where resource = _resource and reserved_until > _at) ends), 0), resource, id from ${waiters}
      where resource = _resource and (reserved_until is not null or place = _place) and channel <> coalesce(_channel, '') order by place;
    if _channel is not null then
      select id, if(reserved_until is null, (select if(share is null, max(till), min(till)) - _at from (select ${TAKES_UNTIL} as till from ${holders} where resource = _resource and ${TAKES_UNTIL} > _at
        union all select reserved_until from ${waiters} where resource = _resource and reserved_until > _at) ends), 0) as wake_in from ${waiters} where resource = _resource and (reserved_until is not null or place = _place) and channel = _channel order by place;
    end if;
  end if;
end`
}

function tell({ holders, channels, messages }: Names): string {
  return `(_resource varbinary(512), _token bigint, _state varchar(16), _at bigint, _to_holder boolean, _watched boolean)
sql security invoker
begin
  if _to_holder then
    insert into ${messages} (channel, sent_at, kind, resource, id, token)
      select channel, _at, 'lost', resource, id, token from ${holders} where resource = _resource and token = _token;
  end if;
  if _watched then
    insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
      select c.channel, _at, _state, resource, token, id, owner, metadata, share, acquired_at,
        if(_state = 'kept', kept_until, expires_at), if(_state = 'kept', greatest(at_least, lock_delay), span)
      from ${holders} h join ${channels} c on c.watch_until > _at
      where resource = _resource and token = _token and (_state <> 'kept' or kept_until > _at);
  end if;
end`
}

function end({ table, holders, procedure }: Names): string {
  return `(_resource varbinary(512), _token bigint, _state varchar(16), _at bigint, _to_holder boolean, _watched boolean)
sql security invoker
begin
  declare _kept bigint;
  select _at as at, _state as state, resource, token, id, owner, metadata, share, acquired_at, expires_at, span from ${holders} where resource = _resource and token = _token;
  if _to_holder or _watched then
    call ${procedure('tell')}(_resource, _token, _state, _at, _to_holder, _watched);
  end if;
  -- What was taken over keeps nothing.
  select case _state when 'released' then if(at_least > 0, acquired_at + at_least, 0)
      when 'taken-over' then 0 else ${TAKES_UNTIL} end into _kept
    from ${holders} where resource = _resource and token = _token;
  if _kept > _at then
    update ${holders} set kept_until = _kept where resource = _resource and token = _token;
  else
    delete from ${holders} where resource = _resource and token = _token;
  end if;
  update ${table} set ended_at = _at where resource = _resource;
end`
}

function endExpired({ holders, procedure }: Names): string {
  return `(_resource varbinary(512), _at bigint, _watched boolean, inout _left bigint)
sql security invoker
begin
  declare _token bigint;
  ending: loop
    set _token = null;
    select min(token) into _token from ${holders} where resource = _resource and kept_until is null and not (${IS_LIVE});
    if _token is null or _left <= 0 then
      leave ending;
    end if;
    call ${procedure('end')}(_resource, _token, 'expired', _at, true, _watched);
    call ${procedure('tell')}(_resource, _token, 'kept', _at, false, _watched);
    set _left = _left - 1;
  end loop;
end`
}

function sweep({ table, holders, waiters, meta, procedure }: Names): string {
  return `(_left bigint)
sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  declare _resource varbinary(512);
  declare _until, _forgotten, _before bigint;
  declare _has_rows, _done boolean default false;
  declare due cursor for select resource from ${table}
    where due_at <= _at and (id is not null or has_rows) order by due_at limit ${PRUNE_AT_ONCE};
  declare continue handler for not found set _done = true;
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    select floor, watch_until > _at into _floor, _watched from ${meta} where one = 1 lock in share mode;
    if _floor is null then
      signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
    end if;
    open due;
    sweeping: loop
      set _done = false;
      fetch due into _resource;
      if _done or _left <= 0 then
        leave sweeping;
      end if;
      set _token = null;
      select token, has_rows, expires_at, greatest(ended_at, token) + ${KEEP_FREE} into _token, _has_rows, _until, _forgotten
        from ${table} where resource = _resource for update skip locked;
      if _token is not null then
        if _has_rows or _until <= _at then
          if not _has_rows then
            insert into ${holders} (resource, token, id, owner, metadata, share, acquired_at, expires_at, span, at_least, lock_delay, channel)
              select resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span, 0, 0, channel from ${table} where resource = _resource and id is not null;
            update ${table} set has_rows = true, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null, channel = null where resource = _resource;
          end if;
          set _before = _left;
          call ${procedure('end_expired')}(_resource, _at, _watched, _left);
          select min(expires_at) into _until from ${holders} where resource = _resource and kept_until is null;
          -- Also without a lease, in the end: dead waiters would keep the row.
          if _left < _before or (_until is null and _forgotten <= _at) then
            call ${procedure('settle')}(_resource, _at, null);
            if not exists (select 1 from ${holders} where resource = _resource) and not exists (select 1 from ${waiters} where resource = _resource) then
              update ${table} set has_rows = false where resource = _resource;
            end if;
          end if;
        end if;
        update ${table} set due_at = coalesce(_until, greatest(ended_at, token) + ${KEEP_FREE}) where resource = _resource;
      end if;
    end loop;
    close due;
    commit and no chain no release;
  end;
end`
}

function postpone({ table }: Names): string {
  return `()
sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    update ${table} set due_at = greatest(ended_at, token) + ${KEEP_FREE} where due_at <= _at and id is null and not has_rows and greatest(ended_at, token) + ${KEEP_FREE} > _at limit ${PRUNE_AT_ONCE};
    commit and no chain no release;
  end;
end`
}

function prune({ table, channels, messages, meta }: Names): string {
  return `()
sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  declare _resource varbinary(512);
  declare _done boolean default false;
  declare forgotten cursor for select resource from ${table}
    where due_at <= _at and id is null and not has_rows and greatest(ended_at, token) + ${KEEP_FREE} <= _at limit ${PRUNE_AT_ONCE};
  declare continue handler for not found set _done = true;
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    open forgotten;
    select floor into _floor from ${meta} for update;
    pruning: loop
      set _done = false;
      fetch forgotten into _resource;
      if _done then
        leave pruning;
      end if;
      set _token = null;
      select token into _token from ${table} where resource = _resource and id is null and not has_rows and greatest(ended_at, token) + ${KEEP_FREE} <= _at for update skip locked;
      if _token is not null then
        delete from ${table} where resource = _resource;
        set _floor = greatest(_floor, _token);
      end if;
    end loop;
    close forgotten;
    update ${meta} set floor = _floor where one = 1;
    delete from ${messages} where sent_at < _at - ${KEEP_MESSAGES} limit ${PRUNE_AT_ONCE};
    delete from ${channels} where greatest(alive_until, watch_until) < _at - ${KEEP_MESSAGES} limit ${PRUNE_AT_ONCE};
    commit and no chain no release;
  end;
end`
}

function hear({ channels, meta }: Names): string {
  return `(_channel varbinary(64), _watches boolean)
sql security invoker
begin
  declare _at, _token, _floor bigint;
  declare _watched boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  declare _was, _alive bigint;
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    if _watches then
      -- Waits until all changes have ended that did not see it.
      select floor into _floor from ${meta} for update;
    end if;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    select watch_until, alive_until into _was, _alive from ${channels} where channel = _channel;
    insert into ${channels} (channel, alive_until, watch_until)
      values (_channel, _at + ${ALIVE_FOR}, if(_watches, _at + ${WATCH_FOR}, 0))
      on duplicate key update alive_until = _at + ${ALIVE_FOR},
        watch_until = if(_watches, _at + ${WATCH_FOR}, watch_until);
    if _watches then
      update ${meta} set watch_until = _at + ${WATCH_FOR} where one = 1;
    end if;
    select coalesce(_alive <= _at, false) as was_gone, coalesce(_was, 0) <= _at as lapsed;
    commit and no chain no release;
  end;
end`
}
