/**
 * The transitions of `lease-row.ts`, one function for each operation of the store, so that each operation takes one
 * round trip. If the row says that the resource is shared, the functions of `shared-leases.ts` take over; a request that is
 * not simply exclusive goes to them directly.
 *
 * Every function locks the row of the resource first and reads the clock once, after that: two readings may fall on
 * two sides of an expiry. Grants and renewals must survive a crash of the server. Other changes need not wait for
 * the disk: a lost release ends with its TTL, and a lost place in the queue is taken again. Several calls may share a
 * transaction. Then it waits for the disk if one of them must: the setting `holdfast.commit` tells the others.
 *
 * An UPDATE reads in its `returning` whether somebody watches. A new watcher waits until the UPDATEs that did not see
 * it have ended.
 */
import { literal } from '../../clients/sql-text.ts'
import { EXACT_PLACES, RESERVATION_MS } from '../options.ts'
import type { Names } from './names.ts'
import { BY_KEY, CLOCK, MILLISECOND, PLACE_WITHOUT_CONNECTION } from './units.ts'

/** Ends the block of `together`, which takes back what was granted before. */
const REFUSED = 'HF001'

export function transitions(names: Names): string {
  const functions = [acquire, together, renew, release, abandon]
  return functions.map((text) => text(names)).join('')
}

function acquire({ table, waiters, meta, fn, dollars }: Names): string {
  return `
create or replace function ${fn('acquire')}(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint) returns text ${BY_KEY} as ${dollars}
declare
  r ${table};
  was ${table};
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;
  head ${waiters};
  mine ${waiters};
  ahead bigint;
begin
  select * into r from ${table} where resource = _resource for no key update;
  if not found then
    r := ${fn('make')}(_resource);
    perform ${fn('tidy')}(r.ended_at);
  end if;
  if r.shared then
    return ${fn('ask')}(_resource, _id, _owner, _ttl, _metadata, _address, _waits, _replace, false, null, null, null);
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
  if r.first_place is not null then
    head := ${fn('settle')}(_resource, r.first_place, not live, at, _id);
    r.first_place := head.place;
  end if;
  if live and r.id = _id then
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
    r.expires_at := greatest(r.expires_at, at + _ttl * ${MILLISECOND}::bigint);
    update ${table} t set
      expires_at = r.expires_at, span = r.expires_at - at, address = _address, first_place = r.first_place
    where resource = _resource
    returning ${fn('describe')}(t, 'held', at), (select watch_channel from ${meta} where watch_until > at) into lease, channel;
  elsif (live and r.token = _replace) or (not live and coalesce(head.id = _id, true)) then
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
    if r.id is not null then
      ended := ${fn('describe')}(r, case when live then 'taken-over' else 'expired' end, at);
      perform ${fn('announce')}(split_part(r.address, ' ', 1),
        json_build_object('lost', r.id, 'token', r.token));
    end if;
    if head.id is not null then
      if head.id <> _id and head.reserved_until is not null then
        update ${waiters} set reserved_until = null where resource = _resource and place = head.place;
      end if;
      r.first_place := ${fn('leave')}(_resource, _id, head.place);
    end if;
    update ${table} t set
      token = greatest(r.token + 1, at), id = _id, owner = _owner, metadata = _metadata::json, acquired_at = at,
      expires_at = at + _ttl * ${MILLISECOND}::bigint, span = _ttl * ${MILLISECOND}::bigint, address = _address, first_place = r.first_place
    where resource = _resource
    returning ${fn('describe')}(t, 'held', at), (select watch_channel from ${meta} where watch_until > at) into lease, channel;
  else
    if current_setting('holdfast.commit', true) is distinct from 'safe' then
      commits := set_config('synchronous_commit', 'off', true);
    end if;
    if r.first_place is not null then
      select * into mine from ${waiters} where resource = _resource and id = _id;
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
          mine.expires_at, null, null);
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
    if r *<> was then
      update ${table} set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
      where resource = _resource;
    end if;
    return json_build_object(
      'granted', false,
      'holders', case when live then json_build_array(${fn('describe')}(r, 'held', at)) else '[]' end,
      'place', ahead,
      'retryIn', ceil((case when live then r.expires_at else head.reserved_until end - at) / ${MILLISECOND}.0)
        + coalesce(ahead, 0) * ${RESERVATION_MS});
  end if;
  if channel is not null then
    perform ${fn('announce')}(channel, ended), ${fn('announce')}(channel, lease);
  end if;
  return json_build_object('granted', true, 'lease', lease, 'replaced', ended);
end
${dollars};
`
}

function together({ table, shared, fn, dollars }: Names): string {
  return `
-- Grants all of these requests, or changes nothing and answers null. None is granted while others wait for its resource.
-- The rows are taken in the order of their names, as by every statement that waits for several.
create or replace function ${fn('together')}(_asks text, _address text) returns text ${BY_KEY} as ${dollars}
declare
  a record;
  r ${table};
  made_at bigint;
  answer json;
  answers json[] := '{}';
  commits text;
begin
  for a in
    select * from json_to_recordset(_asks::json) as asked(nth integer, resource text, id text, owner text,
      ttl integer, metadata json, share bigint, at_least bigint, lock_delay bigint)
    order by asked.resource collate "C"
  loop
    select * into r from ${table} where resource = a.resource for no key update;
    if not found then
      r := ${fn('make')}(a.resource);
      made_at := r.ended_at;
    end if;
    -- A repeated request is granted again, past all waiters.
    if r.first_place is not null and r.id is distinct from a.id and not exists (
      select from ${shared} s where s.resource = a.resource and s.id = a.id and s.kept_until is null
    ) then
      raise sqlstate '${REFUSED}';
    end if;
    if num_nulls(a.share, a.at_least, a.lock_delay) = 3 then
      answer := ${fn('acquire')}(a.resource, a.id, a.owner, a.ttl, a.metadata::text, _address, false, null);
    else
      answer := ${fn('ask')}(a.resource, a.id, a.owner, a.ttl, a.metadata::text, _address, false, null, false, a.share,
        a.at_least, a.lock_delay);
    end if;
    if answer ->> 'granted' = 'false' then
      raise sqlstate '${REFUSED}';
    end if;
    answers[a.nth] := answer;
  end loop;
  if made_at is not null then
    perform ${fn('tidy')}(made_at);
  end if;
  return to_json(answers);
exception when sqlstate '${REFUSED}' then
  if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
  end if;
  return null;
end
${dollars};
`
}

function renew({ table, waiters, meta, fn, dollars }: Names): string {
  return `
create or replace function ${fn('renew')}(_resource text, _id text, _ttl integer) returns text
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
  head ${waiters};
begin
  select * into r from ${table} where resource = _resource for no key update;
  if r.shared then
    return ${fn('prolong')}(_resource, _id, _ttl);
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
  if r.first_place is not null then
    head := ${fn('settle')}(_resource, r.first_place, not live, at, null);
    r.first_place := head.place;
  end if;
  if live and r.id = _id then
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
    r.expires_at := greatest(r.expires_at, at + _ttl * ${MILLISECOND}::bigint);
    update ${table} t set
      expires_at = r.expires_at, span = r.expires_at - at, address = r.address, first_place = r.first_place
    where resource = _resource
    returning ${fn('describe')}(t, 'held', at), (select watch_channel from ${meta} where watch_until > at) into lease, channel;
    if channel is not null then
      perform ${fn('announce')}(channel, lease);
    end if;
    return json_build_object('ok', true, 'lease', lease);
  end if;
  if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
  end if;
  if r *<> was then
    update ${table} set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
    where resource = _resource;
  end if;
  return json_build_object('ok', false, 'holders', case when live then json_build_array(${fn('describe')}(r, 'held', at)) else '[]' end);
end
${dollars};
`
}

function release({ table, waiters, meta, fn, dollars }: Names): string {
  return `
create or replace function ${fn('release')}(_resource text, _id text, _token bigint) returns text
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
  head ${waiters};
begin
  select * into r from ${table} where resource = _resource for no key update;
  if r.shared then
    return ${fn('free')}(_resource, _id, _token, true);
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
  -- That a lease has expired is told to one caller, ever.
  if live or r.id is null then
    if current_setting('holdfast.commit', true) is distinct from 'safe' then
      commits := set_config('synchronous_commit', 'off', true);
    end if;
  else
    commits := set_config('holdfast.commit', 'safe', true);
    if current_setting('synchronous_commit') = 'off' then
      commits := set_config('synchronous_commit', 'on', true);
    end if;
  end if;
  if r.id = _id or (r.id is not null and r.token = _token) then
    ended := ${fn('describe')}(r, case when live then 'released' else 'expired' end, at);
    if r.id is distinct from _id then
      perform ${fn('announce')}(split_part(r.address, ' ', 1),
        json_build_object('lost', r.id, 'token', r.token));
    end if;
    if r.first_place is not null then
      head := ${fn('settle')}(_resource, r.first_place, true, at, _id);
      r.first_place := head.place;
    end if;
    -- It may wait again, since its lease has expired.
    if _id is not null then
      if head.id is not null then
        r.first_place := ${fn('leave')}(_resource, _id, head.place);
        -- Another one is the first now.
        if r.first_place <> head.place and head.reserved_until is null then
          perform ${fn('alert')}(_resource, head.place, r.expires_at, r.expires_at, at, _id);
        end if;
        if r.first_place is not null then
          head := ${fn('settle')}(_resource, r.first_place, true, at, _id);
          r.first_place := head.place;
        end if;
      end if;
    end if;
    update ${table} set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at, first_place = r.first_place
    where resource = r.resource
    returning (select watch_channel from ${meta} where watch_until > at) into channel;
    if channel is not null then
      perform ${fn('announce')}(channel, ended);
    end if;
    return json_build_object('ended', ended, 'holders', '[]'::json);
  end if;
  if r.first_place is not null then
    head := ${fn('settle')}(_resource, r.first_place, not live, at, _id);
    r.first_place := head.place;
  end if;
  if head.id is not null then
    r.first_place := ${fn('leave')}(_resource, _id, head.place);
    -- Another one is the first now.
    if r.first_place <> head.place and head.reserved_until is null then
      perform ${fn('alert')}(_resource, head.place, r.expires_at, r.expires_at, at, _id);
    end if;
    if r.first_place is not null then
      head := ${fn('settle')}(_resource, r.first_place, not live, at, _id);
      r.first_place := head.place;
    end if;
  end if;
  if r *<> was then
    update ${table} set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
    where resource = _resource;
  end if;
  return json_build_object('ended', null, 'holders', case when live then json_build_array(${fn('describe')}(r, 'held', at)) else '[]' end);
end
${dollars};
`
}

function abandon({ table, waiters, fn, dollars }: Names): string {
  return `
-- Gives back a place in the queue whose waiter has gone. Unlike a release it never ends a lease.
create or replace function ${fn('abandon')}(_resource text, _id text) returns text ${BY_KEY} as ${dollars}
declare
  r ${table};
  was ${table};
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;
  head ${waiters};
begin
  select * into r from ${table} where resource = _resource for no key update;
  if r.shared then
    return ${fn('free')}(_resource, _id, null, false);
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
  if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
  end if;
  if r.first_place is not null then
    head := ${fn('settle')}(_resource, r.first_place, not live, at, _id);
    r.first_place := head.place;
  end if;
  if head.id is not null then
    r.first_place := ${fn('leave')}(_resource, _id, head.place);
    -- Another one is the first now.
    if r.first_place <> head.place and head.reserved_until is null then
      perform ${fn('alert')}(_resource, head.place, r.expires_at, r.expires_at, at, _id);
    end if;
    if r.first_place is not null then
      head := ${fn('settle')}(_resource, r.first_place, not live, at, _id);
      r.first_place := head.place;
    end if;
  end if;
  if r *<> was then
    update ${table} set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
    where resource = _resource;
  end if;
  return null;
end
${dollars};
`
}
