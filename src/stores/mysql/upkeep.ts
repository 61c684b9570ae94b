/** Procedures that the transitions share, and those that clean up and register processes. */
import type { Names } from './names.ts'
import { PRUNE_AT_ONCE } from './options.ts'
import {
  dropRows,
  inTransaction,
  LEASE_COLUMNS,
  moveLease,
  OWN,
  readClock,
  shareMeta,
  turnIn,
} from './steps.ts'
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
  const { table, holders, waiters, channels, messages, meta, procedure } = names
  const wake = `insert into ${messages} (channel, sent_at, kind, wake_in, resource, id)`
  const absent = `(select distinct channel from ${waiters} where ${OWN} and reserved_until <= _at) absent`
  const isCalled = `${OWN} and (reserved_until is not null or place = _place)`
  const wakeIn = `if(reserved_until is null, ${turnIn(names)}, 0)`
  const isFree = 'id is null and not has_rows'
  const forgetAt = `greatest(ended_at, token) + ${KEEP_FREE}`

  return {
    // Brings a resource up to this moment: ends reservations that were not used, and makes the next ones.
    // '_channel': of the process whose waiters the answer wakes. All others are sent messages.
    settle: `(_resource varbinary(512), _at bigint, _channel varbinary(64))
sql security invoker
begin
  declare _taken, _room, _reserved, _place, _capacity, _alive bigint;
  declare _is_stale, _is_new boolean default false;
  counting: loop
    select coalesce(sum(${TAKES_UNTIL} > _at), 0), coalesce(min(if(${TAKES_UNTIL} > _at, ${CAPACITY}, null)), ${MANY}),
        coalesce(max(expires_at > _at + span or (at_least > 0 and acquired_at > _at)
          or kept_until > _at + greatest(at_least, lock_delay) or kept_until <= _at), false)
      into _taken, _room, _is_stale from ${holders} where ${OWN};
    if not _is_stale then
      leave counting;
    end if;
    -- A clock that stepped back must not lengthen anything.
    update ${holders} set expires_at = least(expires_at, _at + span),
      acquired_at = if(at_least > 0, least(acquired_at, _at), acquired_at),
      kept_until = least(kept_until, _at + greatest(at_least, lock_delay)) where ${OWN};
    delete from ${holders} where ${OWN} and kept_until <= _at;
    -- It may expire earlier now, and a sweep must find it.
    update ${table} set due_at = 0 where ${OWN};
  end loop;
  if exists (select 1 from ${waiters} where ${OWN}) then
    update ${waiters} set reserved_until = _at + ${RESERVATION} where ${OWN} and reserved_until > _at + ${RESERVATION};
    -- Whoever missed its turn loses its place, with all others of its process. They are told to ask again.
    if exists (select 1 from ${waiters} where ${OWN} and reserved_until <= _at) then
      ${wake} select w.channel, _at, 'wake', 0, w.resource, w.id
        from ${waiters} w join ${absent} on absent.channel = w.channel where w.resource = _resource;
      delete w from ${waiters} w join ${absent} on absent.channel = w.channel where w.resource = _resource;
    end if;
    select count(*), coalesce(min(${CAPACITY}), ${MANY}) into _reserved, _capacity
      from ${waiters} where ${OWN} and reserved_until is not null;
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
        update ${waiters} set reserved_until = _at + ${RESERVATION} where ${OWN} and place = _place;
        set _taken = _taken + 1;
        set _room = least(_room, _capacity);
        set _is_new = true;
      end if;
    end loop;
    if _is_new then
      ${wake} select channel, _at, 'wake', ${wakeIn}, resource, id from ${waiters}
        where ${isCalled} and channel <> coalesce(_channel, '') order by place;
      if _channel is not null then
        select id, ${wakeIn} as wake_in from ${waiters} where ${isCalled} and channel = _channel order by place;
      end if;
    end if;
  end if;
end`,

    // Of a lease that is 'kept', watchers are told when the resource becomes free.
    tell: `(_resource varbinary(512), _token bigint, _state varchar(16), _at bigint, _to_holder boolean, _watched boolean)
sql security invoker
begin
  if _to_holder then
    insert into ${messages} (channel, sent_at, kind, resource, id, token)
      select channel, _at, 'lost', resource, id, token from ${holders} where ${OWN} and token = _token;
  end if;
  if _watched then
    insert into ${messages} (channel, sent_at, kind, ${LEASE_COLUMNS})
      select c.channel, _at, _state, resource, token, id, owner, metadata, share, acquired_at,
        if(_state = 'kept', kept_until, expires_at), if(_state = 'kept', greatest(at_least, lock_delay), span)
      from ${holders} h join ${channels} c on c.watch_until > _at
      where ${OWN} and token = _token and (_state <> 'kept' or kept_until > _at);
  end if;
end`,

    end: `(_resource varbinary(512), _token bigint, _state varchar(16), _at bigint, _to_holder boolean, _watched boolean)
sql security invoker
begin
  declare _kept bigint;
  select _at as at, _state as state, ${LEASE_COLUMNS} from ${holders} where ${OWN} and token = _token;
  call ${procedure('tell')}(_resource, _token, _state, _at, _to_holder, _watched);
  -- What was taken over keeps nothing.
  select case _state when 'released' then if(at_least > 0, acquired_at + at_least, 0)
      when 'taken-over' then 0 else ${TAKES_UNTIL} end into _kept
    from ${holders} where ${OWN} and token = _token;
  if _kept > _at then
    update ${holders} set kept_until = _kept where ${OWN} and token = _token;
  else
    delete from ${holders} where ${OWN} and token = _token;
  end if;
  update ${table} set ended_at = _at where ${OWN};
end`,

    end_expired: `(_resource varbinary(512), _at bigint, _watched boolean, inout _left bigint)
sql security invoker
begin
  declare _token bigint;
  ending: loop
    set _token = null;
    select min(token) into _token from ${holders} where ${OWN} and kept_until is null and not (${IS_LIVE});
    if _token is null or _left <= 0 then
      leave ending;
    end if;
    call ${procedure('end')}(_resource, _token, 'expired', _at, true, _watched);
    call ${procedure('tell')}(_resource, _token, 'kept', _at, false, _watched);
    set _left = _left - 1;
  end loop;
end`,

    // 'due_at' is never later than the expiry of a lease, but it may be earlier. Then the row is due again later.
    sweep: `(_left bigint)
${inTransaction(
  `declare _resource varbinary(512);
  declare _until, _forgotten, _before bigint;
  declare _has_rows, _done boolean default false;
  declare due cursor for select resource from ${table}
    where due_at <= _at and (id is not null or has_rows) order by due_at limit ${PRUNE_AT_ONCE};
  declare continue handler for not found set _done = true;`,
  `${readClock}
    ${shareMeta(names)}
    open due;
    sweeping: loop
      set _done = false;
      fetch due into _resource;
      if _done or _left <= 0 then
        leave sweeping;
      end if;
      set _token = null;
      select token, has_rows, expires_at, ${forgetAt} into _token, _has_rows, _until, _forgotten
        from ${table} where ${OWN} for update skip locked;
      if _token is not null then
        if _has_rows or _until <= _at then
          ${moveLease(names)}
          set _before = _left;
          call ${procedure('end_expired')}(_resource, _at, _watched, _left);
          select min(expires_at) into _until from ${holders} where ${OWN} and kept_until is null;
          -- Also without a lease, in the end: dead waiters would keep the row.
          if _left < _before or (_until is null and _forgotten <= _at) then
            call ${procedure('settle')}(_resource, _at, null);
            ${dropRows(names)}
          end if;
        end if;
        update ${table} set due_at = coalesce(_until, ${forgetAt}) where ${OWN};
      end if;
    end loop;
    close due;`,
)}`,

    // So that the free rows which may not be deleted yet are not looked at again and again.
    postpone: `()
${inTransaction(
  '',
  `${readClock}
    update ${table} set due_at = ${forgetAt} where due_at <= _at and ${isFree} and ${forgetAt} > _at limit ${PRUNE_AT_ONCE};`,
)}`,

    // Deletes rows that nobody needs. Their tokens must not be given again: the floor rises in the same transaction.
    prune: `()
${inTransaction(
  `declare _resource varbinary(512);
  declare _done boolean default false;
  declare forgotten cursor for select resource from ${table}
    where due_at <= _at and ${isFree} and ${forgetAt} <= _at limit ${PRUNE_AT_ONCE};
  declare continue handler for not found set _done = true;`,
  `${readClock}
    open forgotten;
    select floor into _floor from ${meta} for update;
    pruning: loop
      set _done = false;
      fetch forgotten into _resource;
      if _done then
        leave pruning;
      end if;
      set _token = null;
      select token into _token from ${table} where ${OWN} and ${isFree} and ${forgetAt} <= _at for update skip locked;
      if _token is not null then
        delete from ${table} where ${OWN};
        set _floor = greatest(_floor, _token);
      end if;
    end loop;
    close forgotten;
    update ${meta} set floor = _floor where one = 1;
    delete from ${messages} where sent_at < _at - ${KEEP_MESSAGES} limit ${PRUNE_AT_ONCE};
    delete from ${channels} where greatest(alive_until, watch_until) < _at - ${KEEP_MESSAGES} limit ${PRUNE_AT_ONCE};`,
)}`,

    // The process keeps its places for a while from now on and, if it watches, is told of every change.
    hear: `(_channel varbinary(64), _watches boolean)
${inTransaction(
  `declare _was, _alive bigint;`,
  `if _watches then
      -- Waits until all changes have ended that did not see it.
      select floor into _floor from ${meta} for update;
    end if;
    ${readClock}
    select watch_until, alive_until into _was, _alive from ${channels} where channel = _channel;
    insert into ${channels} (channel, alive_until, watch_until)
      values (_channel, _at + ${ALIVE_FOR}, if(_watches, _at + ${WATCH_FOR}, 0))
      on duplicate key update alive_until = _at + ${ALIVE_FOR},
        watch_until = if(_watches, _at + ${WATCH_FOR}, watch_until);
    if _watches then
      update ${meta} set watch_until = _at + ${WATCH_FOR} where one = 1;
    end if;
    select coalesce(_alive <= _at, false) as was_gone, coalesce(_was, 0) <= _at as lapsed;`,
)}`,
  }
}
