/** Procedures that the transitions share, and those that clean up and register processes. */
import type { Names } from './names.ts'
import {
  ALIVE_FOR,
  CAPACITY,
  HOUR,
  IS_LIVE,
  KEEP_MESSAGES,
  RESERVATION,
  TAKES_UNTIL,
  WATCH_FOR,
} from './units.ts'

/** Stands for "no limit". */
export const MANY = Number.MAX_SAFE_INTEGER
/** So that no statement takes long. The next sweep goes on. */
const AT_ONCE = 1000
/** How long a free row is kept, so that its token outlives a clock that steps back. */
const KEEP_FREE = HOUR

export const LEASE_COLUMNS = 'resource, token, id, owner, metadata, share, acquired_at, expires_at, span'

/** `names`: of the tables. */
export function upkeep(names: Names): Readonly<Record<string, string>> {
  const { table, holders, waiters, channels, messages, meta, procedure } = names
  const own = 'resource = _resource'
  const wake = `insert into ${messages} (channel, sent_at, kind, wake_in, resource, id)`
  const absent = `(select distinct channel from ${waiters} where ${own} and reserved_until <= _at) absent`

  return {
    // 'utc_timestamp' is frozen at the start of a statement, and 'sysdate' follows the time zone of the session.
    now: `(out _at bigint)
sql security invoker
begin
  declare zone varchar(64) default @@session.time_zone;
  set session time_zone = '+00:00';
  set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
  set session time_zone = zone;
end`,

    // Brings a resource up to this moment: ends reservations that were not used, and makes the next ones.
    settle: `(_resource varbinary(512), _at bigint)
sql security invoker
begin
  declare _taken, _room, _reserved, _place, _capacity, _alive, _until bigint;
  declare _is_new boolean default false;
  -- A clock that stepped back must not lengthen anything.
  update ${holders} set expires_at = _at + span where ${own} and expires_at > _at + span;
  update ${holders} set acquired_at = _at where ${own} and at_least > 0 and acquired_at > _at;
  update ${holders} set kept_until = _at + greatest(at_least, lock_delay)
    where ${own} and kept_until > _at + greatest(at_least, lock_delay);
  delete from ${holders} where ${own} and kept_until <= _at;
  if exists (select 1 from ${waiters} where ${own}) then
    update ${waiters} set reserved_until = _at + ${RESERVATION} where ${own} and reserved_until > _at + ${RESERVATION};
    -- Whoever missed its turn loses its place, with all others of its process. They are told to ask again.
    if exists (select 1 from ${waiters} where ${own} and reserved_until <= _at) then
      ${wake} select w.channel, _at, 'wake', 0, w.resource, w.id
        from ${waiters} w join ${absent} on absent.channel = w.channel where w.resource = _resource;
      delete w from ${waiters} w join ${absent} on absent.channel = w.channel where w.resource = _resource;
    end if;
    select count(*), coalesce(min(${CAPACITY}), ${MANY}) into _taken, _room
      from ${holders} where ${own} and ${TAKES_UNTIL} > _at;
    select count(*), coalesce(min(${CAPACITY}), ${MANY}) into _reserved, _capacity
      from ${waiters} where ${own} and reserved_until is not null;
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
        update ${waiters} set reserved_until = _at + ${RESERVATION} where ${own} and place = _place;
        set _taken = _taken + 1;
        set _room = least(_room, _capacity);
        set _is_new = true;
      end if;
    end loop;
    if _is_new then
      select min(reserved_until) - _at into _until from ${waiters} where ${own} and reserved_until is not null;
      ${wake} select channel, _at, 'wake', 0, resource, id from ${waiters}
        where ${own} and reserved_until is not null;
      ${wake} select channel, _at, 'wake', _until, resource, id from ${waiters}
        where ${own} and reserved_until is null order by place limit 1;
    end if;
  end if;
end`,

    tell: `(_resource varbinary(512), _token bigint, _state varchar(16), _at bigint, _to_holder boolean, _watched boolean)
sql security invoker
begin
  if _to_holder then
    insert into ${messages} (channel, sent_at, kind, resource, id, token)
      select channel, _at, 'lost', resource, id, token from ${holders} where ${own} and token = _token;
  end if;
  if _watched then
    insert into ${messages} (channel, sent_at, kind, ${LEASE_COLUMNS})
      select c.channel, _at, _state, ${LEASE_COLUMNS}
      from ${holders} h join ${channels} c on c.watch_until > _at where ${own} and token = _token;
  end if;
end`,

    end: `(_resource varbinary(512), _token bigint, _state varchar(16), _at bigint, _to_holder boolean, _watched boolean)
sql security invoker
begin
  declare _kept bigint;
  select _at as at, _state as state, ${LEASE_COLUMNS} from ${holders} where ${own} and token = _token;
  call ${procedure('tell')}(_resource, _token, _state, _at, _to_holder, _watched);
  select if(_state = 'released', if(at_least > 0, acquired_at + at_least, 0), ${TAKES_UNTIL}) into _kept
    from ${holders} where ${own} and token = _token;
  if _kept > _at then
    update ${holders} set kept_until = _kept where ${own} and token = _token;
  else
    delete from ${holders} where ${own} and token = _token;
  end if;
  update ${table} set ended_at = _at where ${own};
end`,

    end_expired: `(_resource varbinary(512), _at bigint, _watched boolean, inout _left bigint)
sql security invoker
begin
  declare _token bigint;
  ending: loop
    set _token = null;
    select min(token) into _token from ${holders} where ${own} and kept_until is null and not (${IS_LIVE});
    if _token is null or _left <= 0 then
      leave ending;
    end if;
    call ${procedure('end')}(_resource, _token, 'expired', _at, true, _watched);
    set _left = _left - 1;
  end loop;
end`,

    sweep: `(_left bigint)
${inTransaction(
  `declare _at, _token, _floor bigint;
  declare _resource varbinary(512);
  declare _watched, _done boolean default false;
  declare expired cursor for select distinct resource from ${holders}
    where kept_until is null and expires_at <= _at limit ${AT_ONCE};
  declare continue handler for not found set _done = true;`,
  `call ${procedure('now')}(_at);
    ${shareMeta(names)}
    open expired;
    sweeping: loop
      set _done = false;
      fetch expired into _resource;
      if _done or _left <= 0 then
        leave sweeping;
      end if;
      set _token = null;
      select token into _token from ${table} where ${own} for update skip locked;
      if _token is not null then
        call ${procedure('end_expired')}(_resource, _at, _watched, _left);
        call ${procedure('settle')}(_resource, _at);
      end if;
    end loop;
    close expired;`,
)}`,

    // Deletes rows that nobody needs. Their tokens must not be given again: the floor rises in the same transaction.
    prune: `()
${inTransaction(
  `declare _at, _token, _floor bigint;
  declare _resource varbinary(512);
  declare _done boolean default false;
  declare forgotten cursor for select resource from ${table} t
    where ended_at <= _at - ${KEEP_FREE} and token <= _at - ${KEEP_FREE}
      and not exists (select 1 from ${holders} h where h.resource = t.resource) limit ${AT_ONCE};
  declare continue handler for not found set _done = true;`,
  `select floor into _floor from ${meta} for update;
    call ${procedure('now')}(_at);
    open forgotten;
    pruning: loop
      set _done = false;
      fetch forgotten into _resource;
      if _done then
        leave pruning;
      end if;
      set _token = null;
      select token into _token from ${table}
        where ${own} and ended_at <= _at - ${KEEP_FREE} and token <= _at - ${KEEP_FREE} for update skip locked;
      if _token is not null and not exists (select 1 from ${holders} where ${own}) then
        -- Waiters of dead processes leave the queue.
        call ${procedure('settle')}(_resource, _at);
        if not exists (select 1 from ${waiters} where ${own}) then
          delete from ${table} where ${own};
          set _floor = greatest(_floor, _token);
        end if;
      end if;
    end loop;
    close forgotten;
    update ${meta} set floor = _floor;
    delete from ${messages} where sent_at < _at - ${KEEP_MESSAGES} limit ${AT_ONCE};
    delete from ${channels} where greatest(alive_until, watch_until) < _at - ${KEEP_MESSAGES} limit ${AT_ONCE};`,
)}`,

    // The process keeps its places for a while from now on and, if it watches, is told of every change.
    hear: `(_channel varbinary(64), _watches boolean)
${inTransaction(
  `declare _at, _floor, _was bigint;`,
  `if _watches then
      -- Waits until all changes have ended that did not see it.
      select floor into _floor from ${meta} for update;
    end if;
    call ${procedure('now')}(_at);
    select watch_until into _was from ${channels} where channel = _channel;
    insert into ${channels} (channel, alive_until, watch_until)
      values (_channel, _at + ${ALIVE_FOR}, if(_watches, _at + ${WATCH_FOR}, 0))
      on duplicate key update alive_until = _at + ${ALIVE_FOR},
        watch_until = if(_watches, _at + ${WATCH_FOR}, watch_until);
    if _watches then
      update ${meta} set watch_until = _at + ${WATCH_FOR};
    end if;
    select coalesce(_was, 0) <= _at as lapsed;`,
)}`,
  }
}

/** Shared with all others who change leases. A new watcher, and whoever raises the floor, waits for them. */
export function shareMeta({ meta }: Names): string {
  return `select floor, watch_until > _at into _floor, _watched from ${meta} lock in share mode;
    if _floor is null then
      signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
    end if;`
}

/**
 * Sets the isolation level first. That fails within a transaction of the application, which `start transaction` would
 * commit. An error of a statement would otherwise leave the transaction open, with its locks.
 */
export function inTransaction(declarations: string, body: string): string {
  return `sql security invoker
begin
  ${declarations}
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    ${body}
    commit;
  end;
end`
}
