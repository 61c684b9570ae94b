/** Functions that describe rows, notify, create and delete rows, end expired leases, and register holders and watchers. */

import type { Names } from './names.ts'
import { MAX_PAYLOAD_BYTES, PRUNE_AT_ONCE } from './options.ts'
import { BY_KEY, CLOCK, KEEP_FREE, MAY_SEE_PROCESSES, PRUNE_EVERY, SECOND, WATCH_AHEAD } from './units.ts'

export function upkeep(names: Names): string {
  const functions = [isWhole, describe, announce, prune, tidy, make, sweep, hear, probe, watch]
  return functions.map((text) => text(names)).join('')
}

function isWhole({ table, fn, dollars }: Names): string {
  return `
create function ${fn('is_whole')}(r ${table}) returns boolean language sql immutable as ${dollars}
  select num_nulls(r.id, r.owner, r.acquired_at, r.expires_at, r.span) in (0, 5)
    and coalesce(json_typeof(r.metadata) = 'object', true)
${dollars};
`
}

function describe({ table, fn, dollars }: Names): string {
  return `
create function ${fn('describe')}(r ${table}, state text, at bigint) returns json language sql stable as ${dollars}
  select json_build_object(
    'resource', r.resource, 'id', r.id, 'owner', r.owner, 'token', r.token, 'metadata', r.metadata, 'share', null,
    'acquiredAt', r.acquired_at / 1000,
    'expiresAt', least(r.expires_at, at + r.span) / 1000,
    'remaining', case state when 'held' then (least(r.expires_at, at + r.span) - at) / 1000 else 0 end,
    'state', state)
${dollars};
`
}

function announce({ fn, dollars }: Names): string {
  return `
-- A change that is too long to be told makes the watcher read the row.
create function ${fn('announce')}(channel text, change json) returns void language sql as ${dollars}
  select case
    when coalesce(channel, '') = '' then null
    when octet_length(change::text) <= ${MAX_PAYLOAD_BYTES} then pg_notify(channel, change::text)
    when change is not null then pg_notify(channel, json_build_object('resource', change->'resource')::text) end
${dollars};
`
}

function prune({ table, waiters, shared, meta, fn, dollars }: Names): string {
  return `
-- Drops rows that nobody needs. Their tokens must not be given again: the floor rises in the same transaction.
create function ${fn('prune')}(at bigint) returns void language plpgsql as ${dollars}
declare
  highest bigint;
  dropped integer;
begin
  perform from ${meta} for update skip locked;
  if not found then
    return;
  end if;
  with doomed as (
    select resource from ${table} t
    where id is null and greatest(ended_at, token) + ${KEEP_FREE} <= at
      and not (t.shared and exists (select from ${shared} s where s.resource = t.resource)) and not exists (
      select from ${waiters} w where w.resource = t.resource
        and coalesce(w.expires_at > at, not ${fn('is_dead')}(pid, started)))
    limit ${PRUNE_AT_ONCE} for update skip locked
  ), dead as (
    delete from ${waiters} w using doomed where w.resource = doomed.resource
  ), gone as (
    delete from ${table} t using doomed where t.resource = doomed.resource returning t.token
  )
  select max(token), count(*) into highest, dropped from gone;
  update ${meta} set
    floor = greatest(floor, highest),
    pruned_at = case when dropped < ${PRUNE_AT_ONCE} then at else pruned_at end;
end
${dollars};
`
}

function tidy({ meta, fn, dollars }: Names): string {
  return `
-- Prunes if it is time. Called when a row is created: the table grows only then, so it needs no sweeper. Pruning locks
-- rows in any order, so its caller must not wait for another row afterwards.
create function ${fn('tidy')}(at bigint) returns void language plpgsql as ${dollars}
begin
  if exists (select from ${meta} where pruned_at + ${PRUNE_EVERY} < at or pruned_at > at) then
    perform ${fn('prune')}(at);
  end if;
end
${dollars};
`
}

function make({ table, waiters, shared, meta, fn, dollars }: Names): string {
  return `
-- Creates the row of a resource. Its caller calls 'tidy' once it will wait for no other row.
create function ${fn('make')}(_resource text) returns ${table} language plpgsql as ${dollars}
declare
  r ${table};
  floor bigint := (select m.floor from ${meta} m);
  highest bigint;
begin
  loop
    insert into ${table} (resource, token, ended_at) values (_resource, coalesce(floor, 0), ${CLOCK})
      on conflict do nothing returning * into r;
    if found then
      -- Those who waited when somebody deleted an earlier row.
      delete from ${waiters} where resource = _resource;
      -- Somebody may have deleted the row of leases that are still live.
      select max(token) into highest from ${shared} where resource = _resource;
      -- Again: the insertion waits for a deletion of the same resource that raises the floor.
      r.token := greatest(r.token, (select m.floor from ${meta} m), highest);
      r.shared := highest is not null;
      if r.shared or r.token > floor then
        update ${table} set token = r.token, shared = r.shared where resource = _resource;
      end if;
      return r;
    end if;
    select * into r from ${table} where resource = _resource for no key update;
    if found then
      return r;
    end if;
  end loop;
end
${dollars};
`
}

function sweep({ table, waiters, shared, meta, fn, dollars }: Names): string {
  return `
-- Never waits for a lock, so that it may hold several.
create or replace function ${fn('sweep')}(_limit integer) returns text language plpgsql as ${dollars}
declare
  r ${table};
  head ${waiters};
  at bigint;
  ended json;
  channel text;
  swept json[] := '{}';
begin
  at := ${CLOCK};
  update ${table} set expires_at = at + span where resource in (
    select resource from ${table} where expires_at > at + span for no key update skip locked);
  update ${shared} s set expires_at = at + s.span from (
    select t.resource from ${table} t where t.shared and exists (
      select from ${shared} s where s.resource = t.resource and s.expires_at > at + s.span)
    for no key update skip locked) t
    where s.resource = t.resource and s.expires_at > at + s.span;
  for r in
    select * from ${table} t where t.expires_at <= at and ${fn('is_whole')}(t)
    limit _limit for no key update skip locked
  loop
    ended := ${fn('describe')}(r, 'expired', at);
    perform ${fn('announce')}(split_part(r.address, ' ', 1),
      json_build_object('lost', r.id, 'token', r.token));
    if r.first_place is not null then
      head := ${fn('settle')}(r.resource, r.first_place, true, at, null);
      r.first_place := head.place;
    end if;
    update ${table} set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at, first_place = r.first_place
    where resource = r.resource
    returning (select watch_channel from ${meta} where watch_until > at) into channel;
    if channel is not null then
      perform ${fn('announce')}(channel, ended);
    end if;
    swept := swept || ended;
  end loop;
  for r in
    select * from ${table} t where t.shared and exists (
      select from ${shared} s where s.resource = t.resource and coalesce(s.kept_until, s.expires_at) <= at)
    limit _limit for no key update skip locked
  loop
    exit when cardinality(swept) >= _limit;
    swept := swept || ${fn('expire')}(r, at, _limit - cardinality(swept));
  end loop;
  perform ${fn('prune')}(at);
  return to_json(swept);
end
${dollars};
`
}

function hear({ table, shared, fn, dollars }: Names): string {
  return `
-- These holders are told at this address from now on. Answers the ids of those that hold no more.
create or replace function ${fn('hear')}(_holders text, _address text) returns text ${BY_KEY} as ${dollars}
declare
  at bigint;
  commits text;
begin
  if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
  end if;
  -- In the order of a batch of renewals and releases, so that the two cannot block each other.
  perform from ${table} where resource in (select h.resource from json_to_recordset(_holders::json) as h(resource text, id text)) order by resource for no key update;
  at := ${CLOCK};
  update ${table} t set address = _address from json_to_recordset(_holders::json) as h(resource text, id text)
    where t.resource = h.resource and t.id = h.id and t.address is distinct from _address;
  update ${shared} s set address = _address from json_to_recordset(_holders::json) as h(resource text, id text)
    where s.resource = h.resource and s.id = h.id and s.kept_until is null and s.address is distinct from _address;
  return (
    select coalesce(json_agg(h.id), '[]') from json_to_recordset(_holders::json) as h(resource text, id text)
    where not exists (select from ${table} t where t.resource = h.resource and t.id = h.id and t.expires_at > at)
      and not exists (select from ${shared} s
        where s.resource = h.resource and s.id = h.id and s.kept_until is null and s.expires_at > at));
end
${dollars};
`
}

function probe({ fn, dollars }: Names): string {
  return `
-- Answers when the listening process began; the payload shows whether that one hears at all.
create or replace function ${fn('probe')}(_channel text, _payload text, _pid integer) returns text
  language plpgsql as ${dollars}
begin
  perform pg_notify(_channel, _payload);
  if _pid is null or not ${MAY_SEE_PROCESSES} then
    return null;
  end if;
  return (
    select (extract(epoch from a.backend_start) * ${SECOND})::bigint from pg_stat_get_activity(_pid) a
    where a.pid = _pid);
end
${dollars};
`
}

function watch({ meta, fn, dollars }: Names): string {
  return `
-- Changes are announced for a while from now on.
create or replace function ${fn('watch')}() returns text language plpgsql as ${dollars}
declare
  m ${meta};
  at bigint;
  commits text;
begin
  select * into m from ${meta} for no key update;
  at := ${CLOCK};
  if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
  end if;
  update ${meta} set watch_until = at + ${WATCH_AHEAD};
  return json_build_object('channel', m.watch_channel, 'lapsed', m.watch_until <= at);
end
${dollars};
`
}
