/**
 * The transitions of `lease-row.ts`, one function for each operation of the store, so that each operation takes one
 * round trip. If the row says that the resource is shared, the functions of `shared-leases.ts` take over; a request that is
 * not simply exclusive goes to them directly.
 *
 * Every function locks the row of the resource first and reads the clock once, after that: two readings may fall on
 * two sides of an expiry. Grants and renewals must survive a crash of the server. Other changes need not wait for
 * the disk: a lost release ends with its TTL, and a lost place in the queue is taken again.
 */
import { RESERVATION_MS } from '../options.ts'
import type { Names } from './names.ts'
import { announce, commitLazily, commitSafely, isWatched, steps, tellLoss } from './steps.ts'
import { BY_KEY, MILLISECOND } from './units.ts'
import { endLease } from './upkeep.ts'

export function transitions(names: Names): string {
  const { waiters, fn, dollars } = names
  const { lock, begin, findWaiter, joinQueue, ...common } = steps(names)
  const variables = `${common.variables}
  head ${waiters};`
  const { settle, leaveQueue, save, grant, extend } = exclusiveSteps(names)
  const ifShared = (call: string) => `if r.shared then
    return ${call};
  end if;`
  const holders = `case when live then json_build_array(${fn('describe')}(r, 'held', at)) else '[]' end`
  return `
create or replace function ${fn('acquire')}(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint) returns text ${BY_KEY} as ${dollars}
declare
  ${variables}
  mine ${waiters};
  ahead bigint;
begin
  ${lock}
  if not found then
    r := ${fn('make')}(_resource);
  end if;
  ${ifShared(`${fn('ask')}(_resource, _id, _owner, _ttl, _metadata, _address, _waits, _replace, false, null, null, null)`)}
  ${begin}
  ${settle('not live', '_id')}
  if live and r.id = _id then
    ${commitSafely}
    ${extend('_address')}
  elsif (live and r.token = _replace) or (not live and coalesce(head.id = _id, true)) then
    ${commitSafely}
    if r.id is not null then
      ended := ${fn('describe')}(r, case when live then 'taken-over' else 'expired' end, at);
      ${tellLoss(fn, 'r')}
    end if;
    if head.id is not null then
      if head.id <> _id and head.reserved_until is not null then
        update ${waiters} set reserved_until = null where resource = _resource and place = head.place;
      end if;
      r.first_place := ${fn('leave')}(_resource, _id, head.place);
    end if;
    ${grant}
  else
    ${commitLazily}
    ${findWaiter}
    ${joinQueue('null')}
    ${save}
    return json_build_object(
      'granted', false,
      'holders', ${holders},
      'place', ahead,
      'retryIn', ceil((case when live then r.expires_at else head.reserved_until end - at) / ${MILLISECOND}.0)
        + coalesce(ahead, 0) * ${RESERVATION_MS});
  end if;
  ${announce(fn, 'ended', 'lease')}
  return json_build_object('granted', true, 'lease', lease, 'replaced', ended);
end
${dollars};

create or replace function ${fn('renew')}(_resource text, _id text, _ttl integer) returns text
  ${BY_KEY} as ${dollars}
declare
  ${variables}
begin
  ${lock}
  ${ifShared(`${fn('prolong')}(_resource, _id, _ttl)`)}
  ${begin}
  ${settle('not live', 'null')}
  if live and r.id = _id then
    ${commitSafely}
    ${extend('r.address')}
    ${announce(fn, 'lease')}
    return json_build_object('ok', true, 'lease', lease);
  end if;
  ${commitLazily}
  ${save}
  return json_build_object('ok', false, 'holders', ${holders});
end
${dollars};

create or replace function ${fn('release')}(_resource text, _id text, _token bigint) returns text
  ${BY_KEY} as ${dollars}
declare
  ${variables}
begin
  ${lock}
  ${ifShared(`${fn('free')}(_resource, _id, _token, true)`)}
  ${begin}
  -- That a lease has expired is told to one caller, ever.
  if live or r.id is null then
    ${commitLazily}
  else
    ${commitSafely}
  end if;
  if r.id = _id or (r.id is not null and r.token = _token) then
    ended := ${fn('describe')}(r, case when live then 'released' else 'expired' end, at);
    if r.id is distinct from _id then
      ${tellLoss(fn, 'r')}
    end if;
    ${settle('true', '_id')}
    -- It may wait again, since its lease has expired.
    if _id is not null then
      ${leaveQueue('true')}
    end if;
    ${endLease(names)}
    ${announce(fn, 'ended')}
    return json_build_object('ended', ended, 'holders', '[]'::json);
  end if;
  ${settle('not live', '_id')}
  ${leaveQueue('not live')}
  ${save}
  return json_build_object('ended', null, 'holders', ${holders});
end
${dollars};

-- Gives back a place in the queue whose waiter has gone. Unlike a release it never ends a lease.
create or replace function ${fn('abandon')}(_resource text, _id text) returns text ${BY_KEY} as ${dollars}
declare
  ${variables}
begin
  ${lock}
  ${ifShared(`${fn('free')}(_resource, _id, null, false)`)}
  ${begin}
  ${commitLazily}
  ${settle('not live', '_id')}
  ${leaveQueue('not live')}
  ${save}
  return null;
end
${dollars};
`
}

/** Steps of these functions only, on the same variables. */
function exclusiveSteps(names: Names) {
  const { table, fn } = names
  const ttl = `_ttl * ${MILLISECOND}::bigint`
  const returning = `where resource = _resource
    returning ${fn('describe')}(t, 'held', at), ${isWatched(names)} into lease, channel;`
  return {
    /** Both are SQL expressions. `asker`: the id that need not be woken, because it is the caller. */
    settle: (isFree: 'not live' | 'true', asker: '_id' | 'null') => `if r.first_place is not null then
    head := ${fn('settle')}(_resource, r.first_place, ${isFree}, at, ${asker});
    r.first_place := head.place;
  end if;`,

    leaveQueue: (isFree: 'not live' | 'true') => `if head.id is not null then
    r.first_place := ${fn('leave')}(_resource, _id, head.place);
    -- Another one is the first now.
    if r.first_place <> head.place and head.reserved_until is null then
      perform ${fn('alert')}(_resource, head.place, r.expires_at, r.expires_at, at, _id);
    end if;
    if r.first_place is not null then
      head := ${fn('settle')}(_resource, r.first_place, ${isFree}, at, _id);
      r.first_place := head.place;
    end if;
  end if;`,

    grant: `update ${table} t set
      token = greatest(r.token + 1, at), id = _id, owner = _owner, metadata = _metadata::json, acquired_at = at,
      expires_at = at + ${ttl}, span = ${ttl}, address = _address, first_place = r.first_place
    ${returning}`,

    /** `address` is an SQL expression. */
    extend: (address: string) => `r.expires_at := greatest(r.expires_at, at + ${ttl});
    update ${table} t set
      expires_at = r.expires_at, span = r.expires_at - at, address = ${address}, first_place = r.first_place
    ${returning}`,

    save: `if r *<> was then
      update ${table} set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
      where resource = _resource;
    end if;`,
  }
}
