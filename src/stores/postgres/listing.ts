import type { Names } from './names.ts'
import { BY_KEY, CLOCK } from './units.ts'

/** Shows live leases and their waiters and locks nothing. It leaves out a corrupt row: acquiring its resource reports it. */
export function listing({ table, waiters, fn, dollars }: Names): string {
  return `
create or replace function ${fn('read')}(_resources text) returns text ${BY_KEY} as ${dollars}
declare
  at bigint := ${CLOCK};
begin
  return (
    select coalesce(json_agg((
      select coalesce(json_agg(${fn('describe')}(t, 'held', at)), '[]') from ${table} t
      where t.resource = wanted.name and t.expires_at > at and ${fn('is_sound')}(t)
    ) order by wanted.place), '[]')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, place));
end
${dollars};

create or replace function ${fn('list')}(_prefix text, _after text, _limit integer) returns text ${BY_KEY} as ${dollars}
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

-- Waiters of dead processes, and those that have not asked in time, keep their rows until it is their turn.
create or replace function ${fn('waiting')}(_resources text, _limit integer) returns text ${BY_KEY} as ${dollars}
declare
  at bigint := ${CLOCK};
begin
  return (
    select coalesce(json_agg((
      select json_build_object('count', count(*), 'first', coalesce(json_agg(
        json_build_object('id', w.id, 'owner', w.owner, 'place', w.ahead) order by w.ahead)
        filter (where w.ahead < _limit), '[]'))
      from (
        select id, owner, row_number() over (order by place) - 1 as ahead from ${waiters}
        where resource = wanted.name and coalesce(expires_at > at, not ${fn('is_dead')}(pid, started))
      ) w
    ) order by wanted.nth), '[]')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, nth));
end
${dollars};
`
}
