/** How leases with rows of their own are renewed and end. `shared-leases.ts` grants them. */

import { literal } from '../../clients/sql-text.ts'
import type { Names } from './names.ts'
import { BY_KEY, CLOCK, MILLISECOND } from './units.ts'

export function prolong({ table, shared, meta, fn, dollars }: Names): string {
  return `
create function ${fn('prolong')}(_resource text, _id text, _ttl integer) returns text ${BY_KEY} as ${dollars}
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
begin
  select * into r from ${table} where resource = _resource for no key update;
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
  room := ${fn('admit')}(r.resource, r.first_place, at, null);
  r.first_place := room.first;
  select * into l from ${shared} s where s.resource = _resource and s.id = _id and s.kept_until is null and s.expires_at > at;
  if found then
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
    update ${shared} t set
      expires_at = greatest(t.expires_at, at + _ttl * ${MILLISECOND}::bigint), span = greatest(t.expires_at, at + _ttl * ${MILLISECOND}::bigint) - at,
      address = t.address
    where t.resource = _resource and t.token = l.token
    returning ${fn('show')}(t, 'held', at) into lease;
    changes := array[lease];
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
    return json_build_object('ok', true, 'lease', lease);
  end if;
  if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
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
  return json_build_object('ok', false, 'holders', (select coalesce(json_agg(${fn('show')}(s, 'held', at) order by s.token), '[]')
    from ${shared} s where s.resource = _resource and s.kept_until is null and s.expires_at > at));
end
${dollars};
`
}

export function free({ table, waiters, shared, meta, fn, dollars }: Names): string {
  return `
-- '_ends': also a lease, and not only a place in the queue.
create function ${fn('free')}(_resource text, _id text, _token bigint, _ends boolean) returns text
  ${BY_KEY} as ${dollars}
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
  is_next boolean;
begin
  select * into r from ${table} where resource = _resource for no key update;
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
  room := ${fn('admit')}(r.resource, r.first_place, at, _id);
  r.first_place := room.first;
  is_next := (select w.id = _id from ${waiters} w
    where w.resource = _resource and w.place >= r.first_place and w.reserved_until is null order by w.place limit 1);
  if _ends then
    select * into l from ${shared} s
    where s.resource = _resource and (s.token = _token or s.id = _id) and s.kept_until is null;
  end if;
  -- That a lease has expired is told to one caller, ever.
  if l.expires_at <= at then
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
  else
    if current_setting('holdfast.commit', true) is distinct from 'safe' then
      commits := set_config('synchronous_commit', 'off', true);
    end if;
  end if;
  if l.token is not null then
    ended := ${fn('finish')}(l, case when at < l.expires_at then 'released' else 'expired' end, at);
    if l.id is distinct from _id then
      perform ${fn('announce')}(split_part(l.address, ' ', 1),
        json_build_object('lost', l.id, 'token', l.token));
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
    changes := array[ended] || array(select ${fn('show')}(s, 'kept', at) from ${shared} s
      where s.resource = r.resource and s.token = l.token and s.kept_until > at);
  end if;
  if r.first_place is not null then
    r.first_place := ${fn('leave')}(_resource, _id, r.first_place);
    room := ${fn('admit')}(r.resource, r.first_place, at, _id);
    r.first_place := room.first;
    -- Another waiter is the first one without a reservation now, or it may ask sooner: an ended lease keeps the resource.
    if is_next or exists (
      select from ${shared} s where s.resource = _resource and s.token = l.token and s.kept_until > at
    ) then
      perform ${fn('alert')}(_resource, coalesce(max(w.place), 0), room.soonest, room.latest, at, _id)
        from (select place from ${waiters} where resource = _resource and place >= r.first_place
          order by place limit room.reserved) w;
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
  return json_build_object('ended', ended, 'holders', (select coalesce(json_agg(${fn('show')}(s, 'held', at) order by s.token), '[]')
    from ${shared} s where s.resource = _resource and s.kept_until is null and s.expires_at > at));
end
${dollars};
`
}

export function expire({ table, shared, meta, fn, dollars }: Names): string {
  return `
-- The caller has locked the row.
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
  for l in
    select * from ${shared} s where s.resource = r.resource and s.kept_until is null and s.expires_at <= at
    order by s.token limit _limit
  loop
    ended := ${fn('finish')}(l, 'expired', at);
    perform ${fn('announce')}(split_part(l.address, ' ', 1),
      json_build_object('lost', l.id, 'token', l.token));
    r.ended_at := at;
    changes := changes || ended || array(select ${fn('show')}(s, 'kept', at) from ${shared} s
      where s.resource = r.resource and s.token = l.token and s.kept_until > at);
  end loop;
  room := ${fn('admit')}(r.resource, r.first_place, at, null);
  r.first_place := room.first;
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
  return array(select c from unnest(changes) c where c ->> 'state' = 'expired');
end
${dollars};
`
}
