/**
 * The transitions of a resource whose leases have rows of their own: because they are shared, or because one may keep
 * the resource after its end. `ask` makes a resource shared. It is so until the last lease has ended and nobody
 * waits. Then the functions of `transitions.ts` are enough for it again.
 *
 * Each of them counts the leases and reads nothing else of them, so a thousand readers cost little. It writes the row
 * of the resource and the leases that it changes.
 */
import type { Names } from './names.ts'
import { commitLazily, commitSafely, isWatched, steps, tellLoss } from './steps.ts'
import { BY_KEY, MILLISECOND, RESERVATION } from './units.ts'

/** Of the row `s`. One that has ended may still keep the resource. */
export const isLive = 's.kept_until is null and s.expires_at > at'

export function sharing(names: Names): string {
  const { table, waiters, shared, fn, dollars } = names
  const { lock, begin, findWaiter, joinQueue, ...common } = steps(names)
  const variables = `${common.variables}
  l ${shared};
  room record;
  changes json[] := '{}';
  change json;`
  const settle = (asker: '_id' | 'null') => `room := ${fn('admit')}(r.resource, r.first_place, at, ${asker});
  r.first_place := room.first;`
  const holders = `(select coalesce(json_agg(${fn('show')}(s, 'held', at) order by s.token), '[]')
    from ${shared} s where s.resource = _resource and ${isLive})`
  const own = `select * into l from ${shared} s where s.resource = _resource and s.id = _id and ${isLive};`
  const ttl = `_ttl * ${MILLISECOND}::bigint`
  const extend = (address: string) => `update ${shared} t set
      expires_at = greatest(t.expires_at, at + ${ttl}), span = greatest(t.expires_at, at + ${ttl}) - at,
      address = ${address}
    where t.resource = _resource and t.token = l.token
    returning ${fn('show')}(t, 'held', at) into lease;
    changes := array[lease];`
  /** What watchers are told of the lease `l`, which has ended. */
  const keptNow = `array(select ${fn('show')}(s, 'kept', at) from ${shared} s
      where s.resource = r.resource and s.token = l.token and s.kept_until > at)`
  const endExpired = (limit: string) => `for l in
    select * from ${shared} s where s.resource = r.resource and s.kept_until is null and s.expires_at <= at
    order by s.token limit ${limit}
  loop
    ended := ${fn('finish')}(l, 'expired', at);
    ${tellLoss(fn, 'l')}
    r.ended_at := at;
    changes := changes || ended || ${keptNow};
  end loop;`
  const save = `r.shared := r.first_place is not null or exists (select from ${shared} s where s.resource = r.resource);
  if r *<> was or cardinality(changes) > 0 then
    update ${table} set
      token = r.token, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null,
      address = null, ended_at = r.ended_at, first_place = r.first_place, last_place = r.last_place, shared = r.shared
    where resource = r.resource
    returning ${isWatched(names)} into channel;
    if channel is not null then
      foreach change in array changes loop
        perform ${fn('announce')}(channel, change);
      end loop;
    end if;
  end if;`
  return `
-- Until when no other lease fits beside it, unless their shares allow it.
create function ${fn('kept')}(s ${shared}) returns bigint language sql immutable as ${dollars}
  select coalesce(s.kept_until, greatest(s.expires_at + coalesce(s.lock_delay, 0), s.acquired_at + s.at_least))
${dollars};

create function ${fn('show')}(s ${shared}, state text, at bigint) returns json language sql stable as ${dollars}
  select json_build_object(
    'resource', s.resource, 'id', s.id, 'owner', s.owner, 'token', s.token, 'metadata', s.metadata, 'share', s.share,
    'acquiredAt', s.acquired_at / 1000,
    'expiresAt', until / 1000,
    'remaining', case when state in ('held', 'kept') then (until - at) / 1000 else 0 end,
    'state', state)
  from (select case state
    when 'kept' then least(${fn('kept')}(s), at + greatest(s.at_least, s.lock_delay))
    else least(s.expires_at, at + s.span) end as until) times
${dollars};

-- Ends a lease, which may keep the resource for a while.
create function ${fn('finish')}(s ${shared}, state text, at bigint) returns json ${BY_KEY} as ${dollars}
declare
  until bigint := case state when 'released' then s.acquired_at + s.at_least else ${fn('kept')}(s) end;
begin
  if until > at then
    update ${shared} t set kept_until = until where t.resource = s.resource and t.token = s.token;
  else
    delete from ${shared} t where t.resource = s.resource and t.token = s.token;
  end if;
  return ${fn('show')}(s, state, at);
end
${dollars};

-- As 'askAgainIn' of 'lease-row.ts'.
create function ${fn('retry_at')}(_resource text, _first bigint, _reserved bigint, _share bigint, _place bigint,
  at bigint) returns bigint ${BY_KEY} as ${dollars}
declare
  ends bigint[] := array(
    select till from (
      select ${fn('kept')}(s) as till from ${shared} s where s.resource = _resource
      union all (select reserved_until from ${waiters} where resource = _resource and place >= _first
        order by place limit _reserved)) taken
    where till > at order by till);
  ahead bigint := greatest(_place - _reserved, 0);
  latest bigint := coalesce(ends[cardinality(ends)], at);
begin
  if _share is null then
    return latest + _place * ${RESERVATION};
  end if;
  return coalesce(ends[ahead + 1],
    latest + greatest(ahead - greatest(cardinality(ends) - 1, 0), 0) * ${RESERVATION});
end
${dollars};

create or replace function ${fn('ask')}(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint, _steals boolean, _share bigint, _at_least bigint,
  _lock_delay bigint) returns text ${BY_KEY} as ${dollars}
declare
  ${variables}
  mine ${waiters};
  ahead bigint;
  wanted bigint := _share;
  replaces boolean;
begin
  ${lock}
  if not found then
    r := ${fn('make')}(_resource);
  end if;
  ${begin}
  if r.id is not null then
    insert into ${shared} (resource, token, id, owner, metadata, acquired_at, expires_at, span, address) values (
      r.resource, r.token, r.id, r.owner, r.metadata, r.acquired_at, r.expires_at, r.span, r.address);
  end if;
  r.shared := true;
  ${settle('_id')}
  ${own}
  if found then
    ${commitSafely}
    ${extend('_address')}
    ${save}
    return json_build_object('granted', true, 'lease', lease);
  end if;
  ${findWaiter}
  if mine.reserved_until is not null then
    wanted := coalesce(mine.share, _share);
  end if;
  replaces := _steals or (room.taken = 1 and exists (
    select from ${shared} s where s.resource = _resource and s.token = _replace and ${isLive}));
  if replaces or ((mine.reserved_until is not null or r.first_place is null)
      -- Also with a reservation: if the clock stepped back, a lease that had expired is live again.
      and room.taken < least(room.allowed, coalesce(wanted, 1))) then
    ${commitSafely}
    ${endExpired('null')}
    if replaces then
      for l in select * from ${shared} s where s.resource = _resource and ${isLive} order by s.token loop
        ended := ${fn('show')}(l, 'taken-over', at);
        ${tellLoss(fn, 'l')}
        r.ended_at := at;
        changes := changes || ended;
      end loop;
      changes := changes || array(select ${fn('show')}(s, 'taken-over', at) from ${shared} s
        where s.resource = _resource and s.kept_until > at order by s.token);
      delete from ${shared} where resource = _resource;
      update ${waiters} set reserved_until = null where resource = _resource and reserved_until is not null;
    end if;
    if r.first_place is not null then
      r.first_place := ${fn('leave')}(_resource, _id, r.first_place);
    end if;
    r.token := greatest(r.token + 1, at);
    insert into ${shared} as s values (
      _resource, r.token, _id, _owner, _metadata::json, wanted, at, at + ${ttl}, ${ttl}, _address,
      _at_least * ${MILLISECOND}, _lock_delay * ${MILLISECOND}, null)
      returning ${fn('show')}(s, 'held', at) into lease;
    changes := changes || lease;
    if replaces then
      ${settle('_id')}
    end if;
    ${save}
    return json_build_object('granted', true, 'lease', lease, 'replaced', ended);
  end if;
  ${commitLazily}
  ${joinQueue('_share')}
  ${save}
  return json_build_object(
    'granted', false,
    'holders', ${holders},
    'keptFor', ceil((room.kept_to - at) / ${MILLISECOND}.0),
    'place', ahead,
    'retryIn', ceil((${fn('retry_at')}(_resource, r.first_place, room.reserved, _share, coalesce(ahead, 0), at) - at)
      / ${MILLISECOND}.0));
end
${dollars};

create function ${fn('prolong')}(_resource text, _id text, _ttl integer) returns text ${BY_KEY} as ${dollars}
declare
  ${variables}
begin
  ${lock}
  ${begin}
  ${settle('null')}
  ${own}
  if found then
    ${commitSafely}
    ${extend('t.address')}
    ${save}
    return json_build_object('ok', true, 'lease', lease);
  end if;
  ${commitLazily}
  ${save}
  return json_build_object('ok', false, 'holders', ${holders});
end
${dollars};

-- '_ends': also a lease, and not only a place in the queue.
create function ${fn('free')}(_resource text, _id text, _token bigint, _ends boolean) returns text
  ${BY_KEY} as ${dollars}
declare
  ${variables}
  is_next boolean;
begin
  ${lock}
  ${begin}
  ${settle('_id')}
  is_next := (select w.id = _id from ${waiters} w
    where w.resource = _resource and w.place >= r.first_place and w.reserved_until is null order by w.place limit 1);
  if _ends then
    select * into l from ${shared} s
    where s.resource = _resource and (s.token = _token or s.id = _id) and s.kept_until is null;
  end if;
  -- That a lease has expired is told to one caller, ever.
  if l.expires_at <= at then
    ${commitSafely}
  else
    ${commitLazily}
  end if;
  if l.token is not null then
    ended := ${fn('finish')}(l, case when at < l.expires_at then 'released' else 'expired' end, at);
    if l.id is distinct from _id then
      ${tellLoss(fn, 'l')}
    end if;
  else
    -- By force, also one that has ended and still keeps the resource.
    select * into l from ${shared} s where s.resource = _resource and s.token = _token and s.kept_until > at;
    if found then
      ended := ${fn('show')}(l, 'released', at);
    end if;
  end if;
  delete from ${shared} s where s.resource = _resource and s.token = _token;
  if ended is not null then
    r.ended_at := at;
    changes := array[ended] || ${keptNow};
  end if;
  if r.first_place is not null then
    r.first_place := ${fn('leave')}(_resource, _id, r.first_place);
    ${settle('_id')}
    -- It is the first one without a reservation now, or may ask sooner, because a lease that has ended keeps the resource.
    if is_next or exists (
      select from ${shared} s where s.resource = _resource and s.token = l.token and s.kept_until > at
    ) then
      perform ${fn('alert')}(_resource, coalesce(max(w.place), 0), room.soonest, room.latest, at, _id)
        from (select place from ${waiters} where resource = _resource and place >= r.first_place
          order by place limit room.reserved) w;
    end if;
  end if;
  ${save}
  return json_build_object('ended', ended, 'holders', ${holders});
end
${dollars};

-- Whoever calls it has locked the row.
create function ${fn('expire')}(r ${table}, at bigint, _limit integer) returns json[] ${BY_KEY} as ${dollars}
declare
  was ${table} := r;
  l ${shared};
  room record;
  ended json;
  changes json[] := '{}';
  change json;
  channel text;
begin
  ${endExpired('_limit')}
  ${settle('null')}
  ${save}
  return array(select c from unnest(changes) c where c ->> 'state' = 'expired');
end
${dollars};
`
}
