/**
 * One row per resource: its last lease, the queue of waiters, and a reservation. The functions are the transitions
 * of `lease-row.ts`, one for each operation of the store, so that each operation takes one round trip. Times are
 * microseconds since 1970.
 *
 * Every function locks the row first and reads the clock once, after that: `now()` would be the start of the
 * transaction, before the wait for the lock, and two readings may fall on two sides of an expiry.
 *
 * An address says where a process receives notifications: `channel pid start` of its listening connection, or
 * nothing if the process polls. When that connection is gone, the process counts as dead, and all its waiters lose
 * their places.
 *
 * Grants and renewals must survive a crash of the server. Other changes need not wait for the disk: a lost release
 * ends with its TTL, and a lost place in the queue is taken again.
 *
 * Released: never change the text below. A later change is migration 2.
 */
import {
  CLOCK,
  MIGRATION_1_RESERVATION_MS,
  MILLISECOND,
  SECOND,
  steps,
  tablesAndHelpers,
} from './migration-1-tables.ts'
import type { Names } from './names.ts'

/** For how long one call of `watch` has changes announced. */
const WATCH_AHEAD = 30 * SECOND

export function migration1(names: Names): string {
  return [tablesAndHelpers, upkeep, holding, looking].map((part) => part(names)).join('\n')
}

/** Ends expired leases, registers holders and watchers. */
function upkeep(names: Names): string {
  const { table, meta, fn, dollars } = names
  const { variables, end, announce, commitLazily } = steps(names)
  return `
-- Never waits for a lock, so that it may hold several.
create function ${fn('sweep')}(_limit integer) returns text language plpgsql as ${dollars}
declare
  ${variables}
  swept json[] := '{}';
begin
  at := ${CLOCK};
  update ${table} set expires_at = at + span where resource in (
    select resource from ${table} where expires_at > at + span for no key update skip locked);
  for r in
    select * from ${table} t where t.expires_at <= at and ${fn('is_sound')}(t)
    limit _limit for no key update skip locked
  loop
    ended := ${fn('describe')}(r, 'expired', at);
    perform ${fn('tell')}(r.address, 'lost ' || r.id);
    r.expires_at := null;
    r := ${fn('settle')}(r, at, null);
    ${end}
    ${announce('ended')}
    swept := swept || ended;
  end loop;
  perform ${fn('prune')}(at);
  return to_json(swept);
end
${dollars};

-- These holders hear at this address from now on. Answers the ids of those that hold no more.
create function ${fn('hear')}(_holders text, _address text) returns text language plpgsql as ${dollars}
declare
  at bigint := ${CLOCK};
  commits text;
begin
  ${commitLazily}
  update ${table} t set address = _address
    from json_to_recordset(_holders::json) as h(resource text, id text)
    where t.resource = h.resource and t.id = h.id and t.address is distinct from _address;
  return (
    select coalesce(json_agg(h.id), '[]') from json_to_recordset(_holders::json) as h(resource text, id text)
    where not exists (select from ${table} t where t.resource = h.resource and t.id = h.id and t.expires_at > at));
end
${dollars};

-- Answers when the listening process began; the payload shows whether that one hears at all.
create function ${fn('probe')}(_channel text, _payload text, _pid integer) returns text language plpgsql as ${dollars}
begin
  perform pg_notify(_channel, _payload);
  return (
    select (extract(epoch from a.backend_start) * ${SECOND})::bigint from pg_stat_get_activity(_pid) a
    where a.pid = _pid);
end
${dollars};

-- Changes are announced for a while from now on.
create function ${fn('watch')}() returns text language plpgsql as ${dollars}
declare
  m ${meta};
  at bigint;
  commits text;
begin
  select * into m from ${meta} for no key update;
  at := ${CLOCK};
  ${commitLazily}
  update ${meta} set watch_until = at + ${WATCH_AHEAD};
  return json_build_object('channel', m.watch_channel, 'lapsed', m.watch_until <= at);
end
${dollars};
`
}

/** The operations on one resource. */
function holding(names: Names): string {
  const { fn, dollars } = names
  const { variables, lock, settle, grant, extend, end, saveLine, announce, commitSafely, commitLazily } =
    steps(names)
  return `
create function ${fn('acquire')}(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint) returns text language plpgsql as ${dollars}
declare
  ${variables}
  live boolean;
  place integer;
begin
  ${lock}
  if not found then
    r := ${fn('make')}(_resource);
  end if;
  ${settle('_id')}
  live := coalesce(at < r.expires_at, false);
  if live and r.id = _id then
    ${commitSafely}
    ${extend('_address')}
  elsif (live and r.token = _replace) or (not live and coalesce(r.reserved_id = _id, true)) then
    ${commitSafely}
    if r.id is not null then
      ended := ${fn('describe')}(r, case when live then 'taken-over' else 'expired' end, at);
      perform ${fn('tell')}(r.address, 'lost ' || r.id);
    end if;
    if r.line <> '{}' then
      r := ${fn('leave')}(r, _id);
      r.reserved_id := null;
      r.reserved_until := null;
    end if;
    ${grant}
  else
    ${commitLazily}
    place := array_position(r.line, _id);
    if _waits and place is null then
      r.line := r.line || _id;
      r.addresses := r.addresses || coalesce(_address, '');
      place := cardinality(r.line);
    elsif _waits then
      r.addresses[place] := coalesce(_address, '');
    end if;
    ${saveLine}
    return json_build_object(
      'granted', false,
      'holder', case when live then ${fn('describe')}(r, 'held', at) end,
      'place', place - 1,
      'retryIn', ceil((case when live then r.expires_at else r.reserved_until end - at) / ${MILLISECOND}.0)
        + coalesce(place - 1, 0) * ${MIGRATION_1_RESERVATION_MS});
  end if;
  ${announce('ended', 'lease')}
  return json_build_object('granted', true, 'lease', lease, 'replaced', ended);
end
${dollars};

create function ${fn('renew')}(_resource text, _id text, _ttl integer) returns text language plpgsql as ${dollars}
declare
  ${variables}
begin
  ${lock}
  ${settle('null')}
  if r.id = _id and at < r.expires_at then
    ${commitSafely}
    ${extend('r.address')}
    ${announce('lease')}
    return json_build_object('ok', true, 'lease', lease);
  end if;
  ${commitLazily}
  ${saveLine}
  return json_build_object(
    'ok', false,
    'holder', case when at < r.expires_at then ${fn('describe')}(r, 'held', at) end);
end
${dollars};

create function ${fn('release')}(_resource text, _id text, _token bigint) returns text language plpgsql as ${dollars}
declare
  ${variables}
begin
  ${lock}
  ${settle('_id')}
  -- That a lease has expired is told to one caller, ever.
  if coalesce(at < r.expires_at, true) then
    ${commitLazily}
  end if;
  if r.id = _id or (r.id is not null and r.token = _token) then
    ended := ${fn('describe')}(r, case when at < r.expires_at then 'released' else 'expired' end, at);
    if r.id is distinct from _id then
      perform ${fn('tell')}(r.address, 'lost ' || r.id);
    end if;
    if r.line <> '{}' then
      r.expires_at := null;
      r := ${fn('settle')}(r, at, _id);
    end if;
    ${end}
    ${announce('ended')}
    return json_build_object('ended', ended, 'holder', null);
  end if;
  if r.line <> '{}' then
    r := ${fn('settle')}(${fn('leave')}(r, _id), at, _id);
  end if;
  ${saveLine}
  return json_build_object(
    'ended', null,
    'holder', case when at < r.expires_at then ${fn('describe')}(r, 'held', at) end);
end
${dollars};
`
}

/** Shows live leases and locks nothing. It leaves out a corrupt row: acquiring its resource reports it. */
function looking({ table, fn, dollars }: Names): string {
  return `
create function ${fn('read')}(_resources text) returns text language plpgsql as ${dollars}
declare
  at bigint := ${CLOCK};
begin
  return (
    select coalesce(json_agg((
      select ${fn('describe')}(t, 'held', at) from ${table} t
      where t.resource = wanted.name and t.expires_at > at and ${fn('is_sound')}(t)
    ) order by wanted.place), '[]')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, place));
end
${dollars};

create function ${fn('list')}(_prefix text, _after text, _limit integer) returns text language plpgsql as ${dollars}
declare
  r ${table};
  at bigint := ${CLOCK};
  listed json[] := '{}';
begin
  for r in
    select * from ${table} t
    where t.resource >= _prefix and t.resource > _after and t.expires_at > at and ${fn('is_sound')}(t)
    order by t.resource
  loop
    exit when cardinality(listed) = _limit or not starts_with(r.resource, _prefix);
    listed := listed || ${fn('describe')}(r, 'held', at);
  end loop;
  return to_json(listed);
end
${dollars};
`
}
