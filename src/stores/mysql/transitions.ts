/**
 * The transitions of `lease-row.ts` as procedures, so that each operation of the store takes one round trip.
 *
 * Each locks the row of the resource first and reads the clock once, after that. Whoever changes a lease then shares a
 * lock on the row of the meta table, for which a new watcher waits: no change is missed. All lock in this order, and
 * those that lock several resources skip the ones that are locked.
 *
 * A procedure answers with rows: one with its `outcome`, and leases with their `state`. `_at` is the clock.
 */
import type { Names } from './names.ts'
import { ALIVE_FOR, CAPACITY, IS_LIVE, RESERVATION, SECOND, TAKES_UNTIL } from './units.ts'
import { inTransaction, LEASE_COLUMNS, MANY, shareMeta } from './upkeep.ts'

/** Farther back, a place is the distance of the numbers: those who left in between count as well. */
const EXACT_PLACES = 100
/** For the parameter `_replace`: any lease. */
export const REPLACE_ANY = -1

/** By the name of the procedure: its parameters and its body. */
export function transitions(names: Names): Readonly<Record<string, string>> {
  const { table, holders, waiters, channels, messages, procedure } = names
  const own = 'resource = _resource'
  const liveHolders = `select _at as at, 'held' as state, ${LEASE_COLUMNS} from ${holders}
      where ${own} and ${IS_LIVE} order by token`
  const extend = `select greatest(expires_at, _at + _ttl) into _until from ${holders} where ${own} and token = _own;
      update ${holders} set expires_at = _until, span = _until - _at where ${own} and token = _own;
      call ${procedure('tell')}(_resource, _own, 'held', _at, false, _watched);`
  const lease = `select _at as at, 'held' as state, ${LEASE_COLUMNS} from ${holders} where ${own} and token = _own`

  return {
    acquire: `(_resource varbinary(512), _id varbinary(512), _owner mediumblob, _ttl bigint, _metadata mediumblob,
  _channel varbinary(64), _waits boolean, _share bigint, _at_least bigint, _lock_delay bigint, _replace bigint)
${inTransaction(
  `declare _at, _token, _floor, _own, _until, _taken, _room, _matching, _reserved, _place, _ahead, _alive bigint;
  declare _left bigint default ${MANY};
  declare _watched, _replaces, _holds boolean default false;`,
  `${lock(names)}
    if _token is null then
      insert into ${table} (resource, token, ended_at, last_place) values (_resource, 0, 0, 0)
        on duplicate key update last_place = last_place;
      ${lock(names)}
    end if;
    ${begin(names)}
    select token into _own from ${holders} where ${own} and id = _id and ${IS_LIVE} order by token limit 1;
    select count(*), coalesce(min(${CAPACITY}), ${MANY}), coalesce(sum(token = _replace and ${IS_LIVE}), 0)
      into _taken, _room, _matching from ${holders} where ${own} and ${TAKES_UNTIL} > _at;
    select share, true into _reserved, _holds from ${waiters} where ${own} and id = _id and reserved_until is not null;
    set _replaces = coalesce(_replace = ${REPLACE_ANY} or (_taken = 1 and _matching = 1), false);
    if _own is not null then
      ${extend}
      update ${holders} set channel = _channel where ${own} and token = _own;
    elseif _replaces or ((_holds or not exists (select 1 from ${waiters} where ${own}))
        and _taken < least(_room, coalesce(_reserved, _share, 1))) then
      call ${procedure('end_expired')}(_resource, _at, _watched, _left);
      if _replaces then
        repeat
          set _own = null;
          select token into _own from ${holders} where ${own} and ${IS_LIVE} order by token limit 1;
          if _own is not null then
            call ${procedure('end')}(_resource, _own, 'taken-over', _at, true, _watched);
          end if;
        until _own is null end repeat;
        delete from ${holders} where ${own};
        -- They may not fit beside the new lease. Those that do are made again below.
        update ${waiters} set reserved_until = null where ${own} and reserved_until is not null;
      end if;
      set _own = greatest(_token + 1, _floor + 1, _at);
      delete from ${waiters} where ${own} and id = _id;
      insert into ${holders} (${LEASE_COLUMNS}, at_least, lock_delay, channel) values (_resource, _own, _id, _owner,
        _metadata, coalesce(_reserved, _share), _at, _at + _ttl, _ttl, _at_least, _lock_delay, _channel);
      update ${table} set token = _own, ended_at = _at where ${own};
      call ${procedure('tell')}(_resource, _own, 'held', _at, false, _watched);
      if _replaces then
        call ${procedure('settle')}(_resource, _at);
      end if;
    else
      select place into _place from ${waiters} where ${own} and id = _id;
      if _waits then
        if _place is null then
          update ${table} set last_place = last_place + 1 where ${own};
          select last_place into _place from ${table} where ${own};
          insert into ${waiters} (resource, place, id, owner, channel, share)
            values (_resource, _place, _id, _owner, _channel, _share);
        else
          update ${waiters} set channel = _channel where ${own} and place = _place;
        end if;
        select alive_until into _alive from ${channels} where channel = _channel;
        if coalesce(_alive, 0) < _at + ${ALIVE_FOR - SECOND} then
          insert into ${channels} (channel, alive_until, watch_until) values (_channel, _at + ${ALIVE_FOR}, 0)
            on duplicate key update alive_until = _at + ${ALIVE_FOR};
        end if;
      end if;
      if _place is not null then
        select count(*) into _ahead from (
          select 1 from ${waiters} where ${own} and place < _place limit ${EXACT_PLACES}) ahead;
        if _ahead = ${EXACT_PLACES} then
          select _place - min(place) into _ahead from ${waiters} where ${own};
        end if;
      end if;
      select 'refused' as outcome, _ahead as place,
        coalesce(if(_share is null, max(till), min(till)) - _at, 0) + coalesce(_ahead, 0) * ${RESERVATION} as retry_in,
        max(if(has_ended, till, null)) - _at as kept_for
      from (
        select ${TAKES_UNTIL} as till, not (${IS_LIVE}) as has_ended from ${holders} where ${own}
        union all select reserved_until, false from ${waiters} where ${own} and reserved_until is not null
      ) taken where till > _at;
      ${liveHolders};
    end if;
    if _own is not null then
      ${lease};
    end if;`,
)}`,

    renew: `(_resource varbinary(512), _id varbinary(512), _ttl bigint)
${inTransaction(
  `declare _at, _token, _floor, _own, _until bigint;
  declare _watched boolean default false;`,
  `${lock(names)}
    ${begin(names)}
    select token into _own from ${holders} where ${own} and id = _id and ${IS_LIVE} order by token limit 1;
    if _own is not null then
      ${extend}
      select 'renewed' as outcome;
      ${lease};
    else
      ${liveHolders};
    end if;`,
)}`,

    release: `(_resource varbinary(512), _id varbinary(512), _forced bigint, _only_place boolean)
${inTransaction(
  `declare _at, _token, _floor, _own, _kept bigint;
  declare _is_live, _watched boolean default false;`,
  `${lock(names)}
    ${begin(names)}
    if not _only_place then
      select token, kept_until, ${IS_LIVE} into _own, _kept, _is_live from ${holders}
        where ${own} and if(_forced is null, id = _id and kept_until is null, token = _forced) order by token limit 1;
      if _own is not null and _kept is null then
        call ${procedure('end')}(_resource, _own, if(_is_live, 'released', 'expired'), _at, _forced is not null, _watched);
      end if;
    end if;
    if _forced is null then
      delete from ${waiters} where ${own} and id = _id;
    else
      delete from ${holders} where ${own} and token = _forced;
    end if;
    call ${procedure('settle')}(_resource, _at);
    -- The first waiter without a reservation is told when the lease that has just ended keeps the resource no longer.
    insert into ${messages} (channel, sent_at, kind, wake_in, resource, id)
      select w.channel, _at, 'wake', least(h.kept_until, coalesce(r.until, h.kept_until)) - _at, w.resource, w.id
      from ${waiters} w join ${holders} h on h.resource = w.resource and h.token = _own
        join (select min(reserved_until) as until from ${waiters} where ${own}) r
      where w.resource = _resource and w.reserved_until is null and h.kept_until > _at and _kept is null
      order by w.place limit 1;
    ${liveHolders};`,
)}`,
  }
}

function lock({ table }: Names): string {
  return `select token into _token from ${table} where resource = _resource for update;`
}

function begin(names: Names): string {
  return `call ${names.procedure('now')}(_at);
    ${shareMeta(names)}
    call ${names.procedure('settle')}(_resource, _at);`
}
