/**
 * The transitions of a resource whose leases and waiters have rows of their own: somebody waits, leases are shared, or
 * one may keep the resource after its end. The caller of these procedures has locked the row of the resource.
 */
import { EXACT_PLACES } from '../options.ts'
import type { Names } from './names.ts'
import { ALIVE_FOR, CAPACITY, IS_LIVE, MANY, RESERVATION, SECOND, TAKES_UNTIL } from './units.ts'

/** For the parameter `_replace`: any lease. */
export const REPLACE_ANY = -1

/** By the name of the procedure: its parameters and its body. */
export function fullTransitions(names: Names): Readonly<Record<string, string>> {
  return { ask: ask(names), prolong: prolong(names), free: free(names) }
}

function ask({ table, holders, waiters, channels, messages, procedure }: Names): string {
  return `(_resource varbinary(512), _id varbinary(512), _owner mediumblob, _ttl bigint, _metadata mediumblob,
  _channel varbinary(64), _waits boolean, _share bigint, _at_least bigint, _lock_delay bigint, _replace bigint,
  _has_rows boolean, _token bigint, _floor bigint, _at bigint, _watched boolean)
sql security invoker
begin
  declare _own, _until, _taken, _room, _matching, _reserved, _place, _ahead, _alive, _last, _count, _ahead_shared bigint;
  declare _left bigint default ${MANY};
  declare _replaces, _holds, _has_expired boolean default false;
  if not _has_rows then
    insert into ${holders} (resource, token, id, owner, metadata, share, acquired_at, expires_at, span, at_least, lock_delay, channel)
      select resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span, 0, 0, channel from ${table} where resource = _resource and id is not null;
    update ${table} set has_rows = true, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null, channel = null where resource = _resource;
  end if;
  call ${procedure('settle')}(_resource, _at, null);
  select coalesce(sum(${TAKES_UNTIL} > _at), 0), coalesce(min(if(${TAKES_UNTIL} > _at, ${CAPACITY}, null)), ${MANY}),
      coalesce(sum(token = _replace and ${IS_LIVE}), 0), min(if(id = _id and ${IS_LIVE}, token, null)),
      coalesce(max(kept_until is null and not (${IS_LIVE})), false)
    into _taken, _room, _matching, _own, _has_expired from ${holders} where resource = _resource;
  select share, true into _reserved, _holds from ${waiters} where resource = _resource and id = _id and reserved_until is not null;
  set _replaces = coalesce(_replace = ${REPLACE_ANY} or (_taken = 1 and _matching = 1), false);
  if _own is not null then
    select greatest(expires_at, _at + _ttl) into _until from ${holders} where resource = _resource and token = _own;
    update ${holders} set expires_at = _until, span = _until - _at where resource = _resource and token = _own;
    if _watched then
      call ${procedure('tell')}(_resource, _own, 'held', _at, false, true);
    end if;
    update ${holders} set channel = _channel where resource = _resource and token = _own;
  elseif _replaces or ((_holds or not exists (select 1 from ${waiters} where resource = _resource))
      and _taken < least(_room, coalesce(_reserved, _share, 1))) then
    if _has_expired then
      call ${procedure('end_expired')}(_resource, _at, _watched, _left);
    end if;
    if _replaces then
      repeat
        set _own = null;
        select token into _own from ${holders} where resource = _resource and ${IS_LIVE} order by token limit 1;
        if _own is not null then
          call ${procedure('end')}(_resource, _own, 'taken-over', _at, true, _watched);
        end if;
      until _own is null end repeat;
      if _watched then
        insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
          select c.channel, _at, 'taken-over', resource, token, id, owner, metadata, share, acquired_at, expires_at, span
          from ${holders} h join ${channels} c on c.watch_until > _at where resource = _resource and kept_until > _at order by token;
      end if;
      delete from ${holders} where resource = _resource;
      -- They may not fit beside the new lease. Those that do are made again below.
      update ${waiters} set reserved_until = null where resource = _resource and reserved_until is not null;
    end if;
    set _own = greatest(_token + 1, _floor + 1, _at);
    delete from ${waiters} where resource = _resource and id = _id;
    insert into ${holders} (resource, token, id, owner, metadata, share, acquired_at, expires_at, span, at_least, lock_delay, channel) values (_resource, _own, _id, _owner,
      _metadata, coalesce(_reserved, _share), _at, _at + _ttl, _ttl, _at_least, _lock_delay, _channel);
    update ${table} set token = _own, due_at = least(due_at, _at + _ttl) where resource = _resource;
    if _watched then
      call ${procedure('tell')}(_resource, _own, 'held', _at, false, true);
    end if;
    if _replaces then
      call ${procedure('settle')}(_resource, _at, null);
    end if;
  else
    select place into _place from ${waiters} where resource = _resource and id = _id;
    if _waits then
      if _place is null then
        update ${table} set last_place = last_place + 1 where resource = _resource;
        select last_place into _place from ${table} where resource = _resource;
        insert into ${waiters} (resource, place, id, owner, channel, share)
          values (_resource, _place, _id, _owner, _channel, _share);
      else
        update ${waiters} set channel = _channel where resource = _resource and place = _place;
      end if;
      select alive_until into _alive from ${channels} where channel = _channel;
      if coalesce(_alive, 0) < _at + ${ALIVE_FOR - SECOND} then
        insert into ${channels} (channel, alive_until, watch_until) values (_channel, _at + ${ALIVE_FOR}, 0)
          on duplicate key update alive_until = _at + ${ALIVE_FOR};
      end if;
    end if;
    if _place is not null then
      select count(*) into _ahead from (
        select 1 from ${waiters} where resource = _resource and place < _place limit ${EXACT_PLACES}) ahead;
      if _ahead = ${EXACT_PLACES} then
        select _place - min(place) into _ahead from ${waiters} where resource = _resource;
      end if;
    end if;
    -- As 'askAgainIn' of 'lease-row.ts'.
    select max(till), count(*) into _last, _count from (select ${TAKES_UNTIL} as till from ${holders} where resource = _resource and ${TAKES_UNTIL} > _at
      union all select reserved_until from ${waiters} where resource = _resource and reserved_until > _at) ends;
    set _until = coalesce(_last, _at) + coalesce(_ahead, 0) * ${RESERVATION};
    if _share is not null then
      select count(*) into _reserved from ${waiters} where resource = _resource and reserved_until is not null;
      set _ahead_shared = greatest(coalesce(_ahead, 0) - _reserved, 0);
      set _until = coalesce(
        (select till from (select ${TAKES_UNTIL} as till from ${holders} where resource = _resource and ${TAKES_UNTIL} > _at
      union all select reserved_until from ${waiters} where resource = _resource and reserved_until > _at) ends order by till limit 1 offset _ahead_shared),
        coalesce(_last, _at) + greatest(_ahead_shared - greatest(_count - 1, 0), 0) * ${RESERVATION});
    end if;
    select 'refused' as outcome, _ahead as place, _until - _at as retry_in,
      (select max(${TAKES_UNTIL}) - _at from ${holders} where resource = _resource and not (${IS_LIVE}) and ${TAKES_UNTIL} > _at)
        as kept_for;
    select _at as at, 'held' as state, resource, token, id, owner, metadata, share, acquired_at, expires_at, span from ${holders} where resource = _resource and ${IS_LIVE} order by token;
  end if;
  if _own is not null then
    select _at as at, 'held' as state, resource, token, id, owner, metadata, share, acquired_at, expires_at, span from ${holders} where resource = _resource and token = _own;
  end if;
end`
}

function prolong({ table, holders, procedure }: Names): string {
  return `(_resource varbinary(512), _id varbinary(512), _ttl bigint, _has_rows boolean, _at bigint,
  _watched boolean)
sql security invoker
begin
  declare _own, _until bigint;
  if not _has_rows then
    insert into ${holders} (resource, token, id, owner, metadata, share, acquired_at, expires_at, span, at_least, lock_delay, channel)
      select resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span, 0, 0, channel from ${table} where resource = _resource and id is not null;
    update ${table} set has_rows = true, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null, channel = null where resource = _resource;
  end if;
  call ${procedure('settle')}(_resource, _at, null);
  select token into _own from ${holders} where resource = _resource and id = _id and ${IS_LIVE} order by token limit 1;
  if _own is not null then
    select greatest(expires_at, _at + _ttl) into _until from ${holders} where resource = _resource and token = _own;
    update ${holders} set expires_at = _until, span = _until - _at where resource = _resource and token = _own;
    if _watched then
      call ${procedure('tell')}(_resource, _own, 'held', _at, false, true);
    end if;
    select 'renewed' as outcome;
    select _at as at, 'held' as state, resource, token, id, owner, metadata, share, acquired_at, expires_at, span from ${holders} where resource = _resource and token = _own;
  else
    select _at as at, 'held' as state, resource, token, id, owner, metadata, share, acquired_at, expires_at, span from ${holders} where resource = _resource and ${IS_LIVE} order by token;
  end if;
end`
}

function free({ table, holders, waiters, messages, procedure }: Names): string {
  return `(_resource varbinary(512), _id varbinary(512), _forced bigint, _only_place boolean, _channel varbinary(64),
  _has_rows boolean, _at bigint, _watched boolean)
sql security invoker
begin
  declare _own, _kept bigint;
  declare _next varbinary(512);
  declare _is_live boolean default false;
  if not _has_rows then
    insert into ${holders} (resource, token, id, owner, metadata, share, acquired_at, expires_at, span, at_least, lock_delay, channel)
      select resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span, 0, 0, channel from ${table} where resource = _resource and id is not null;
    update ${table} set has_rows = true, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null, channel = null where resource = _resource;
  end if;
  call ${procedure('settle')}(_resource, _at, _channel);
  select id into _next from ${waiters} where resource = _resource and reserved_until is null order by place limit 1;
  if not _only_place then
    select token, kept_until, ${IS_LIVE} into _own, _kept, _is_live from ${holders}
      where resource = _resource and if(_forced is null, id = _id and kept_until is null, token = _forced) order by token limit 1;
    if _own is not null and _kept is null then
      call ${procedure('end')}(_resource, _own, if(_is_live, 'released', 'expired'), _at, _forced is not null, _watched);
    elseif _own is not null then
      -- By force, also one that has ended and keeps the resource.
      select _at as at, 'released' as state, resource, token, id, owner, metadata, share, acquired_at, expires_at, span from ${holders} where resource = _resource and token = _own;
      call ${procedure('tell')}(_resource, _own, 'released', _at, false, _watched);
      update ${table} set ended_at = _at where resource = _resource;
    end if;
  end if;
  if _forced is null then
    if _watched then
      call ${procedure('tell')}(_resource, _own, 'kept', _at, false, true);
    end if;
    delete from ${waiters} where resource = _resource and id = _id;
  else
    delete from ${holders} where resource = _resource and token = _forced;
  end if;
  call ${procedure('settle')}(_resource, _at, _channel);
  -- The first waiter without a reservation is another one now, or may ask sooner than it was told.
  if (_forced is null and _next = _id)
      or (_kept is null and exists (select 1 from ${holders} where resource = _resource and token = _own and kept_until > _at)) then
    insert into ${messages} (channel, sent_at, kind, wake_in, resource, id)
      select channel, _at, 'wake', (select if(share is null, max(till), min(till)) - _at from (select ${TAKES_UNTIL} as till from ${holders} where resource = _resource and ${TAKES_UNTIL} > _at
      union all select reserved_until from ${waiters} where resource = _resource and reserved_until > _at) ends), resource, id
      from ${waiters} where resource = _resource and reserved_until is null order by place limit 1;
  end if;
  if not exists (select 1 from ${holders} where resource = _resource) and not exists (select 1 from ${waiters} where resource = _resource) then
    update ${table} set has_rows = false where resource = _resource;
  end if;
  select _at as at, 'held' as state, resource, token, id, owner, metadata, share, acquired_at, expires_at, span from ${holders} where resource = _resource and ${IS_LIVE} order by token;
end`
}
