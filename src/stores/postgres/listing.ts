import type { Names } from './names.ts'
import { BY_KEY, CLOCK } from './units.ts'

/** Shows live leases and locks nothing. It leaves out a corrupt row: acquiring its resource reports it. */
export function listing({ table, fn, dollars }: Names): string {
  return `
create or replace function ${fn('read')}(_resources text) returns text ${BY_KEY} as ${dollars}
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
`
}
