/**
 * The transitions of a resource whose leases and waiters have rows of their own: somebody waits, leases are shared, or
 * one may keep the resource after its end. Whoever calls these procedures has locked the row of the resource.
 */
import { EXACT_PLACES } from '../options.ts'
import type { Names } from './names.ts'
import { dropRows, ends, LEASE_COLUMNS, moveLease, OWN, turnIn } from './steps.ts'
import { ALIVE_FOR, CAPACITY, IS_LIVE, MANY, RESERVATION, SECOND, TAKES_UNTIL } from './units.ts'

/** For the parameter `_replace`: any lease. */
export const REPLACE_ANY = -1

/** By the name of the procedure: its parameters and its body. */
export function fullTransitions(names: Names): Readonly<Record<string, string>> {
  const { table, holders, waiters, channels, messages, procedure } = names
  const settle = (channel: '_channel' | 'null') => `call ${procedure('settle')}(_resource, _at, ${channel});`
  const shown = `select _at as at, 'held' as state, ${LEASE_COLUMNS} from ${holders}`
  const liveHolders = `${shown} where ${OWN} and ${IS_LIVE} order by token;`
  const lease = `${shown} where ${OWN} and token = _own;`
  const findOwn = `select token into _own from ${holders} where ${OWN} and id = _id and ${IS_LIVE} order by token limit 1;`
  const extend = `select greatest(expires_at, _at + _ttl) into _until from ${holders} where ${OWN} and token = _own;
    update ${holders} set expires_at = _until, span = _until - _at where ${OWN} and token = _own;
    call ${procedure('tell')}(_resource, _own, 'held', _at, false, _watched);`

  return {
    ask: `(_resource varbinary(512), _id varbinary(512), _owner mediumblob, _ttl bigint, _metadata mediumblob,
  _channel varbinary(64), _waits boolean, _share bigint, _at_least bigint, _lock_delay bigint, _replace bigint,
  _has_rows boolean, _token bigint, _floor bigint, _at bigint, _watched boolean)
sql security invoker
begin
  declare _own, _until, _taken, _room, _matching, _reserved, _place, _ahead, _alive, _last, _count, _ahead_shared bigint;
  declare _left bigint default ${MANY};
  declare _replaces, _holds boolean default false;
  ${moveLease(names)}
  ${settle('null')}
  ${findOwn}
  select count(*), coalesce(min(${CAPACITY}), ${MANY}), coalesce(sum(token = _replace and ${IS_LIVE}), 0)
    into _taken, _room, _matching from ${holders} where ${OWN} and ${TAKES_UNTIL} > _at;
  select share, true into _reserved, _holds from ${waiters} where ${OWN} and id = _id and reserved_until is not null;
  set _replaces = coalesce(_replace = ${REPLACE_ANY} or (_taken = 1 and _matching = 1), false);
  if _own is not null then
    ${extend}
    update ${holders} set channel = _channel where ${OWN} and token = _own;
  elseif _replaces or ((_holds or not exists (select 1 from ${waiters} where ${OWN}))
      and _taken < least(_room, coalesce(_reserved, _share, 1))) then
    call ${procedure('end_expired')}(_resource, _at, _watched, _left);
    if _replaces then
      repeat
        set _own = null;
        select token into _own from ${holders} where ${OWN} and ${IS_LIVE} order by token limit 1;
        if _own is not null then
          call ${procedure('end')}(_resource, _own, 'taken-over', _at, true, _watched);
        end if;
      until _own is null end repeat;
      if _watched then
        insert into ${messages} (channel, sent_at, kind, ${LEASE_COLUMNS})
          select c.channel, _at, 'taken-over', ${LEASE_COLUMNS}
          from ${holders} h join ${channels} c on c.watch_until > _at where ${OWN} and kept_until > _at order by token;
      end if;
      delete from ${holders} where ${OWN};
      -- They may not fit beside the new lease. Those that do are made again below.
      update ${waiters} set reserved_until = null where ${OWN} and reserved_until is not null;
    end if;
    set _own = greatest(_token + 1, _floor + 1, _at);
    delete from ${waiters} where ${OWN} and id = _id;
    insert into ${holders} (${LEASE_COLUMNS}, at_least, lock_delay, channel) values (_resource, _own, _id, _owner,
      _metadata, coalesce(_reserved, _share), _at, _at + _ttl, _ttl, _at_least, _lock_delay, _channel);
    update ${table} set token = _own, due_at = least(due_at, _at + _ttl) where ${OWN};
    call ${procedure('tell')}(_resource, _own, 'held', _at, false, _watched);
    if _replaces then
      ${settle('null')}
    end if;
  else
    select place into _place from ${waiters} where ${OWN} and id = _id;
    if _waits then
      if _place is null then
        update ${table} set last_place = last_place + 1 where ${OWN};
        select last_place into _place from ${table} where ${OWN};
        insert into ${waiters} (resource, place, id, owner, channel, share)
          values (_resource, _place, _id, _owner, _channel, _share);
      else
        update ${waiters} set channel = _channel where ${OWN} and place = _place;
      end if;
      select alive_until into _alive from ${channels} where channel = _channel;
      if coalesce(_alive, 0) < _at + ${ALIVE_FOR - SECOND} then
        insert into ${channels} (channel, alive_until, watch_until) values (_channel, _at + ${ALIVE_FOR}, 0)
          on duplicate key update alive_until = _at + ${ALIVE_FOR};
      end if;
    end if;
    if _place is not null then
      select count(*) into _ahead from (
        select 1 from ${waiters} where ${OWN} and place < _place limit ${EXACT_PLACES}) ahead;
      if _ahead = ${EXACT_PLACES} then
        select _place - min(place) into _ahead from ${waiters} where ${OWN};
      end if;
    end if;
    -- As 'askAgainIn' of 'lease-row.ts'.
    select max(till), count(*) into _last, _count from ${ends(names)};
    set _until = coalesce(_last, _at) + coalesce(_ahead, 0) * ${RESERVATION};
    if _share is not null then
      select count(*) into _reserved from ${waiters} where ${OWN} and reserved_until is not null;
      set _ahead_shared = greatest(coalesce(_ahead, 0) - _reserved, 0);
      set _until = coalesce(
        (select till from ${ends(names)} order by till limit 1 offset _ahead_shared),
        coalesce(_last, _at) + greatest(_ahead_shared - greatest(_count - 1, 0), 0) * ${RESERVATION});
    end if;
    select 'refused' as outcome, _ahead as place, _until - _at as retry_in,
      (select max(${TAKES_UNTIL}) - _at from ${holders} where ${OWN} and not (${IS_LIVE}) and ${TAKES_UNTIL} > _at)
        as kept_for;
    ${liveHolders}
  end if;
  if _own is not null then
    ${lease}
  end if;
end`,

    prolong: `(_resource varbinary(512), _id varbinary(512), _ttl bigint, _has_rows boolean, _at bigint,
  _watched boolean)
sql security invoker
begin
  declare _own, _until bigint;
  ${moveLease(names)}
  ${settle('null')}
  ${findOwn}
  if _own is not null then
    ${extend}
    select 'renewed' as outcome;
    ${lease}
  else
    ${liveHolders}
  end if;
end`,

    free: `(_resource varbinary(512), _id varbinary(512), _forced bigint, _only_place boolean, _channel varbinary(64),
  _has_rows boolean, _at bigint, _watched boolean)
sql security invoker
begin
  declare _own, _kept bigint;
  declare _next varbinary(512);
  declare _is_live boolean default false;
  ${moveLease(names)}
  ${settle('_channel')}
  select id into _next from ${waiters} where ${OWN} and reserved_until is null order by place limit 1;
  if not _only_place then
    select token, kept_until, ${IS_LIVE} into _own, _kept, _is_live from ${holders}
      where ${OWN} and if(_forced is null, id = _id and kept_until is null, token = _forced) order by token limit 1;
    if _own is not null and _kept is null then
      call ${procedure('end')}(_resource, _own, if(_is_live, 'released', 'expired'), _at, _forced is not null, _watched);
    elseif _own is not null then
      -- By force, also one that has ended and keeps the resource.
      select _at as at, 'released' as state, ${LEASE_COLUMNS} from ${holders} where ${OWN} and token = _own;
      call ${procedure('tell')}(_resource, _own, 'released', _at, false, _watched);
      update ${table} set ended_at = _at where ${OWN};
    end if;
  end if;
  if _forced is null then
    call ${procedure('tell')}(_resource, _own, 'kept', _at, false, _watched);
    delete from ${waiters} where ${OWN} and id = _id;
  else
    delete from ${holders} where ${OWN} and token = _forced;
  end if;
  ${settle('_channel')}
  -- The first waiter without a reservation is another one now, or may ask sooner than it was told.
  if (_forced is null and _next = _id)
      or (_kept is null and exists (select 1 from ${holders} where ${OWN} and token = _own and kept_until > _at)) then
    insert into ${messages} (channel, sent_at, kind, wake_in, resource, id)
      select channel, _at, 'wake', ${turnIn(names)}, resource, id
      from ${waiters} where ${OWN} and reserved_until is null order by place limit 1;
  end if;
  ${dropRows(names)}
  ${liveHolders}
end`,
  }
}
