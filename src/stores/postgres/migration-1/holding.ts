import type { Names } from '../names.ts'
import { RESERVATION } from './line.ts'
import { steps } from './steps.ts'
import { MILLISECOND } from './time.ts'

/** The operations on one resource. */
export function holding(names: Names): string {
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
        + coalesce(place - 1, 0) * ${RESERVATION / MILLISECOND});
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
