import type { Names } from '../names.ts'
import { steps } from './steps.ts'
import { CLOCK, HOUR, SECOND } from './time.ts'

/** How long a free row is kept, so that its token outlives a clock that steps back. */
const KEEP_FREE = HOUR
const PRUNE_EVERY = HOUR / 6
const PRUNE_AT_ONCE = 1000
const WATCH_AHEAD = 30 * SECOND

/** How rows come and go, and who listens. */
export function upkeep(names: Names): string {
  const { table, meta, fn, dollars } = names
  const { variables, end, announce, commitLazily } = steps(names)
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
    select resource from ${table}
    where id is null and line = '{}' and reserved_id is null and greatest(ended_at, token) + ${KEEP_FREE} <= at
    limit ${PRUNE_AT_ONCE} for update skip locked
  ), gone as (
    delete from ${table} t using doomed where t.resource = doomed.resource returning t.token
  )
  select max(token), count(*) into highest, dropped from gone;
  update ${meta} set
    floor = greatest(floor, highest),
    pruned_at = case when dropped < ${PRUNE_AT_ONCE} then at else pruned_at end;
end
${dollars};

-- Only here the table grows, so here it is pruned, and no sweeper is needed for that.
create function ${fn('make')}(_resource text) returns ${table} language plpgsql as ${dollars}
declare
  r ${table};
  m ${meta};
begin
  loop
    insert into ${table} (resource, token, ended_at) values (_resource, 0, ${CLOCK})
      on conflict do nothing returning * into r;
    if found then
      -- After the insertion, which waits for a deletion of the same resource that raises the floor.
      select * into m from ${meta};
      if m.pruned_at + ${PRUNE_EVERY} < r.ended_at or m.pruned_at > r.ended_at then
        perform ${fn('prune')}(r.ended_at);
      end if;
      r.token := m.floor;
      return r;
    end if;
    select * into r from ${table} where resource = _resource for no key update;
    if found then
      return r;
    end if;
  end loop;
end
${dollars};

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
