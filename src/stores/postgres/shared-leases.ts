/**
 * The transitions of a resource whose leases have rows of their own: because they are shared, or because one may keep
 * the resource after its end. `ask` makes a resource shared. It is so until the last lease has ended and nobody
 * waits. Then the functions of `transitions.ts` are enough for it again.
 *
 * Each of them counts the leases and reads nothing else of them, so a thousand readers cost little. It writes the row
 * of the resource and the leases that it changes.
 */
import { literal } from '../../clients/sql-text.ts'
import { EXACT_PLACES } from '../options.ts'
import type { Names } from './names.ts'
import { expire, free, prolong } from './shared-ends.ts'
import { BY_KEY, CLOCK, MILLISECOND, PLACE_WITHOUT_CONNECTION, RESERVATION } from './units.ts'

export function sharing(names: Names): string {
  const functions = [kept, show, finish, retryAt, ask, prolong, free, expire]
  return functions.map((text) => text(names)).join('')
}

function kept({ shared, fn, dollars }: Names): string {
  return `
-- Until when no other lease fits beside it, unless their shares allow it.
create function ${fn('kept')}(s ${shared}) returns bigint language sql immutable as ${dollars}
  select coalesce(s.kept_until, greatest(s.expires_at + coalesce(s.lock_delay, 0), s.acquired_at + s.at_least))
${dollars};
`
}

function show({ shared, fn, dollars }: Names): string {
  const until = `case state
      when 'kept' then least(${fn('kept')}(s), at + greatest(s.at_least, s.lock_delay))
      else least(s.expires_at, at + s.span) end`
  return `
-- One expression, so that it becomes a part of the statement that calls it: a call costs more than most statements.
create function ${fn('show')}(s ${shared}, state text, at bigint) returns json language sql stable as ${dollars}
  select json_build_object(
    'resource', s.resource, 'id', s.id, 'owner', s.owner, 'token', s.token, 'metadata', s.metadata, 'share', s.share,
    'acquiredAt', s.acquired_at / 1000,
    'expiresAt', (${until}) / 1000,
    'remaining', case when state in ('held', 'kept') then (${until} - at) / 1000 else 0 end,
    'state', state)
${dollars};
`
}

function finish({ shared, fn, dollars }: Names): string {
  return `
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
`
}

function retryAt({ waiters, shared, fn, dollars }: Names): string {
  return `
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
`
}

function ask({ table, waiters, shared, meta, fn, dollars }: Names): string {
  return `
create or replace function ${fn('ask')}(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint, _steals boolean, _share bigint, _at_least bigint,
  _lock_delay bigint) returns text ${BY_KEY} as ${dollars}
declare
  r ${table};
  was ${table};
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;
  l ${shared};
  room record;
  changes json[] := '{}';
  change json;
  mine ${waiters};
  ahead bigint;
  wanted bigint := _share;
  replaces boolean;
begin
  select * into r from ${table} where resource = _resource for no key update;
  if not found then
    r := ${fn('make')}(_resource);
    perform ${fn('tidy')}(r.ended_at);
  end if;
  if not ${fn('is_whole')}(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), ${literal(table)}
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := ${CLOCK};
  was := r;
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  live := coalesce(at < r.expires_at, false);
  if r.id is not null then
    insert into ${shared} (resource, token, id, owner, metadata, acquired_at, expires_at, span, address) values (
      r.resource, r.token, r.id, r.owner, r.metadata, r.acquired_at, r.expires_at, r.span, r.address);
  end if;
  r.shared := true;
  room := ${fn('admit')}(r.resource, r.first_place, at, _id);
  r.first_place := room.first;
  select * into l from ${shared} s where s.resource = _resource and s.id = _id and s.kept_until is null and s.expires_at > at;
  if found then
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
    update ${shared} t set
      expires_at = greatest(t.expires_at, at + _ttl * ${MILLISECOND}::bigint), span = greatest(t.expires_at, at + _ttl * ${MILLISECOND}::bigint) - at,
      address = _address
    where t.resource = _resource and t.token = l.token
    returning ${fn('show')}(t, 'held', at) into lease;
    changes := array[lease];
    if r *<> was or cardinality(changes) > 0 then
      update ${table} set
        token = r.token, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null,
        address = null, ended_at = r.ended_at, first_place = r.first_place, last_place = r.last_place, shared = r.shared
      where resource = r.resource
      returning (select watch_channel from ${meta} where watch_until > at) into channel;
      if channel is not null then
        foreach change in array changes loop
          perform ${fn('announce')}(channel, change);
        end loop;
      end if;
    end if;
    return json_build_object('granted', true, 'lease', lease);
  end if;
  if r.first_place is not null then
    select * into mine from ${waiters} where resource = _resource and id = _id;
  end if;
  if mine.reserved_until is not null then
    wanted := coalesce(mine.share, _share);
  end if;
  replaces := _steals or (room.taken = 1 and exists (
    select from ${shared} s where s.resource = _resource and s.token = _replace and s.kept_until is null and s.expires_at > at));
  if replaces or ((mine.reserved_until is not null or r.first_place is null)
      -- Also with a reservation: if the clock stepped back, a lease that had expired is live again.
      and room.taken < least(room.allowed, coalesce(wanted, 1))) then
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
    if room.has_expired then
      for l in
        select * from ${shared} s where s.resource = r.resource and s.kept_until is null and s.expires_at <= at
      order by s.token limit null
      loop
        ended := ${fn('finish')}(l, 'expired', at);
        perform ${fn('announce')}(split_part(l.address, ' ', 1),
          json_build_object('lost', l.id, 'token', l.token));
        r.ended_at := at;
        changes := changes || ended || array(select ${fn('show')}(s, 'kept', at) from ${shared} s
          where s.resource = r.resource and s.token = l.token and s.kept_until > at);
      end loop;
    end if;
    if replaces then
      for l in select * from ${shared} s where s.resource = _resource and s.kept_until is null and s.expires_at > at order by s.token loop
        ended := ${fn('show')}(l, 'taken-over', at);
        perform ${fn('announce')}(split_part(l.address, ' ', 1),
          json_build_object('lost', l.id, 'token', l.token));
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
      _resource, r.token, _id, _owner, _metadata::json, wanted, at, at + _ttl * ${MILLISECOND}::bigint, _ttl * ${MILLISECOND}::bigint, _address,
      _at_least * ${MILLISECOND}, _lock_delay * ${MILLISECOND}, null)
      returning ${fn('show')}(s, 'held', at) into lease;
    changes := changes || lease;
    if replaces then
      room := ${fn('admit')}(r.resource, r.first_place, at, _id);
      r.first_place := room.first;
    end if;
    if r *<> was or cardinality(changes) > 0 then
      update ${table} set
        token = r.token, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null,
        address = null, ended_at = r.ended_at, first_place = r.first_place, last_place = r.last_place, shared = r.shared
      where resource = r.resource
      returning (select watch_channel from ${meta} where watch_until > at) into channel;
      if channel is not null then
        foreach change in array changes loop
          perform ${fn('announce')}(channel, change);
        end loop;
      end if;
    end if;
    return json_build_object('granted', true, 'lease', lease, 'replaced', ended);
  end if;
  if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
  end if;
  if _waits then
    mine.channel := coalesce(split_part(_address, ' ', 1), '');
    mine.pid := nullif(split_part(_address, ' ', 2), '');
    mine.started := nullif(split_part(_address, ' ', 3), '');
    mine.expires_at := case when mine.pid is null then at + ${PLACE_WITHOUT_CONNECTION} end;
    if mine.place is null then
      r.last_place := r.last_place + 1;
      r.first_place := coalesce(r.first_place, r.last_place);
      mine.place := r.last_place;
      insert into ${waiters} values (_resource, mine.place, _id, _owner, mine.channel, mine.pid, mine.started,
        mine.expires_at, null, _share);
    else
      update ${waiters} w
        set channel = mine.channel, pid = mine.pid, started = mine.started, expires_at = mine.expires_at
        where resource = _resource and place = mine.place and (w.channel, w.pid, w.started, w.expires_at)
          is distinct from (mine.channel, mine.pid, mine.started, mine.expires_at);
    end if;
  end if;
  if mine.place is not null then
    select count(*) into ahead from (
      select from ${waiters} where resource = _resource and place >= r.first_place and place < mine.place
      limit ${EXACT_PLACES}) w;
    if ahead = ${EXACT_PLACES} then
      ahead := mine.place - r.first_place;
    end if;
  end if;
  r.shared := r.first_place is not null or exists (select from ${shared} s where s.resource = r.resource);
  if r *<> was or cardinality(changes) > 0 then
    update ${table} set
      token = r.token, id = null, owner = null, metadata = null, acquired_at = null, expires_at = null, span = null,
      address = null, ended_at = r.ended_at, first_place = r.first_place, last_place = r.last_place, shared = r.shared
    where resource = r.resource
    returning (select watch_channel from ${meta} where watch_until > at) into channel;
    if channel is not null then
      foreach change in array changes loop
        perform ${fn('announce')}(channel, change);
      end loop;
    end if;
  end if;
  return json_build_object(
    'granted', false,
    'holders', (select coalesce(json_agg(${fn('show')}(s, 'held', at) order by s.token), '[]')
    from ${shared} s where s.resource = _resource and s.kept_until is null and s.expires_at > at),
    'keptFor', ceil((room.kept_to - at) / ${MILLISECOND}.0),
    'place', ahead,
    'retryIn', ceil((${fn('retry_at')}(_resource, r.first_place, room.reserved, _share, coalesce(ahead, 0), at) - at)
      / ${MILLISECOND}.0));
end
${dollars};
`
}
