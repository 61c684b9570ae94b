/**
 * Shows leases that are live or keep their resource, and their waiters, and locks nothing. It leaves out a corrupt row:
 * acquiring its resource reports it.
 */

import type { Names } from './names.ts'
import { BY_KEY, CLOCK } from './units.ts'

/** Higher than every token. */
export const END_OF_RESOURCE = Number.MAX_SAFE_INTEGER

export function readFunctions(names: Names): string {
  const functions = [read, page, list, waiting]
  return functions.map((text) => text(names)).join('')
}

function read({ table, shared, fn, dollars }: Names): string {
  return `
create or replace function ${fn('read')}(_resources text) returns text ${BY_KEY} as ${dollars}
declare
  at bigint := ${CLOCK};
begin
  return (
    select coalesce(json_agg((
      select coalesce(json_agg(l.lease order by l.token), '[]') from (
        select t.token, ${fn('describe')}(t, 'held', at) as lease from ${table} t
        where t.resource = wanted.name and t.expires_at > at and ${fn('is_whole')}(t)
        union all
        select s.token, ${fn('show')}(s, case when s.kept_until is null and s.expires_at > at then 'held' else 'kept' end, at) from ${table} t join ${shared} s using (resource)
        where t.resource = wanted.name and t.shared and ${fn('kept')}(s) > at
      ) l
    ) order by wanted.place), '[]')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, place));
end
${dollars};
`
}

function page({ table, shared, fn, dollars }: Names): string {
  return `
-- After the lease with this token of the resource '_after'.
create or replace function ${fn('page')}(_prefix text, _after text, _token bigint, _limit integer) returns text
  ${BY_KEY} as ${dollars}
declare
  r ${table};
  at bigint := ${CLOCK};
  listed json[] := '{}';
begin
  for r in
    select * from ${table} t
    where t.resource >= _prefix and t.resource >= _after and (t.shared or t.expires_at > at) and ${fn('is_whole')}(t)
    order by t.resource
  loop
    exit when cardinality(listed) = _limit or not starts_with(r.resource, _prefix);
    if r.shared then
      listed := listed || array(
        select ${fn('show')}(s, case when s.kept_until is null and s.expires_at > at then 'held' else 'kept' end, at) from ${shared} s
        where s.resource = r.resource and ${fn('kept')}(s) > at and (s.resource > _after or s.token > _token)
        order by s.token limit _limit - cardinality(listed));
    elsif r.resource > _after or r.token > _token then
      listed := listed || ${fn('describe')}(r, 'held', at);
    end if;
  end loop;
  return to_json(listed);
end
${dollars};
`
}

function list({ fn, dollars }: Names): string {
  return `
-- For nodes of version 3.
create or replace function ${fn('list')}(_prefix text, _after text, _limit integer) returns text
  language sql as ${dollars}
  select ${fn('page')}(_prefix, _after, ${END_OF_RESOURCE}, _limit)
${dollars};
`
}

function waiting({ waiters, fn, dollars }: Names): string {
  return `
-- Waiters of dead processes, and those that have not asked in time, keep their rows until it is their turn.
create or replace function ${fn('waiting')}(_resources text, _limit integer) returns text ${BY_KEY} as ${dollars}
declare
  at bigint := ${CLOCK};
begin
  return (
    select coalesce(json_agg((
      select json_build_object('count', count(*), 'first', coalesce(json_agg(
        json_build_object('id', w.id, 'owner', w.owner, 'share', w.share, 'place', w.ahead) order by w.ahead)
        filter (where w.ahead < _limit), '[]'))
      from (
        select id, owner, share, row_number() over (order by place) - 1 as ahead from ${waiters}
        where resource = wanted.name and coalesce(expires_at > at, not ${fn('is_dead')}(pid, started))
      ) w
    ) order by wanted.nth), '[]')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, nth));
end
${dollars};
`
}
