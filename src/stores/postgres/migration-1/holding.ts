import type { Names } from '../names.ts'
import { RESERVATION } from './line.ts'
import { steps } from './steps.ts'
import { CLOCK, MILLISECOND } from './time.ts'

/** The operations on one resource. */
export function holding(names: Names): string {
  const { table, fn, dollars } = names
  const { checkRow, settle, endLease, save, announce, commitSafely, commitLazily } = steps(names)
  return `
create function ${fn('acquire')}(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint) returns text language plpgsql as ${dollars}
declare
  r ${table};
  was ${table};
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  place integer;
begin
  select * into r from ${table} where resource = _resource for no key update;
  if not found then
    r := ${fn('make')}(_resource);
  end if;
  ${checkRow}
  at := ${CLOCK};
  was := r;
  ${settle}
  live := coalesce(at < r.expires_at, false);
  if live and r.id = _id then
    r.expires_at := greatest(r.expires_at, at + _ttl * ${MILLISECOND}::bigint);
    r.span := r.expires_at - at;
    r.address := _address;
  elsif (live and r.token = _replace) or (not live and coalesce(r.reserved_id = _id, true)) then
    if r.id is not null then
      ended := ${fn('describe')}(r, case when live then 'taken-over' else 'expired' end, at);
      perform ${fn('tell')}(r.address, 'lost ' || r.id);
    end if;
    if r.line <> '{}' then
      r := ${fn('leave')}(r, _id);
      r.reserved_id := null;
      r.reserved_until := null;
    end if;
    r.token := greatest(r.token + 1, at);
    r.id := _id;
    r.owner := _owner;
    r.metadata := _metadata::json;
    r.acquired_at := at;
    r.span := _ttl * ${MILLISECOND}::bigint;
    r.expires_at := at + r.span;
    r.address := _address;
  else
    place := array_position(r.line, _id);
    if _waits and place is null then
      r.line := r.line || _id;
      r.addresses := r.addresses || coalesce(_address, '');
      place := cardinality(r.line);
    elsif _waits then
      r.addresses[place] := coalesce(_address, '');
    end if;
    ${commitLazily}
    if r *<> was then
      ${save}
    end if;
    return json_build_object(
      'granted', false,
      'holder', case when live then ${fn('describe')}(r, 'held', at) end,
      'place', place - 1,
      'retryIn', ceil((case when live then r.expires_at else r.reserved_until end - at) / ${MILLISECOND}.0)
        + coalesce(place - 1, 0) * ${RESERVATION / MILLISECOND});
  end if;
  ${commitSafely}
  lease := ${fn('describe')}(r, 'held', at);
  ${save}
  ${announce('ended', 'lease')}
  return json_build_object('granted', true, 'lease', lease, 'replaced', ended);
end
${dollars};

create function ${fn('renew')}(_resource text, _id text, _ttl integer) returns text language plpgsql as ${dollars}
declare
  r ${table};
  was ${table};
  at bigint;
  lease json;
  channel text;
begin
  select * into r from ${table} where resource = _resource for no key update;
  ${checkRow}
  at := ${CLOCK};
  was := r;
  ${settle}
  if at < r.expires_at then
    lease := ${fn('describe')}(r, 'held', at);
  end if;
  if lease is null or r.id <> _id then
    ${commitLazily}
    if r *<> was then
      ${save}
    end if;
    return json_build_object('ok', false, 'holder', lease);
  end if;
  ${commitSafely}
  r.expires_at := greatest(r.expires_at, at + _ttl * ${MILLISECOND}::bigint);
  r.span := r.expires_at - at;
  lease := ${fn('describe')}(r, 'held', at);
  ${save}
  ${announce('lease')}
  return json_build_object('ok', true, 'lease', lease);
end
${dollars};

create function ${fn('release')}(_resource text, _id text, _token bigint) returns text language plpgsql as ${dollars}
declare
  r ${table};
  was ${table};
  at bigint;
  ended json;
  channel text;
begin
  select * into r from ${table} where resource = _resource for no key update;
  ${checkRow}
  at := ${CLOCK};
  was := r;
  ${settle}
  -- A lease that has expired is handed to one caller, ever.
  if coalesce(at < r.expires_at, true) then
    ${commitLazily}
  end if;
  if r.id = _id or (r.id is not null and r.token = _token) then
    ended := ${fn('describe')}(r, case when at < r.expires_at then 'released' else 'expired' end, at);
    if r.id is distinct from _id then
      perform ${fn('tell')}(r.address, 'lost ' || r.id);
    end if;
    ${endLease}
  else
    r := ${fn('leave')}(r, _id);
  end if;
  ${settle}
  if r *<> was then
    ${save}
    ${announce('ended')}
  end if;
  return json_build_object(
    'ended', ended,
    'holder', case when at < r.expires_at then ${fn('describe')}(r, 'held', at) end);
end
${dollars};
`
}
