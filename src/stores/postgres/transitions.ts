/**
 * The transitions of `lease-row.ts`, one function for each operation of the store, so that each operation takes one
 * round trip.
 *
 * Every function locks the row of the resource first and reads the clock once, after that: two readings may fall on
 * two sides of an expiry. Grants and renewals must survive a crash of the server. Other changes need not wait for
 * the disk: a lost release ends with its TTL, and a lost place in the queue is taken again.
 */
import { literal } from '../../clients/sql-text.ts'
import { RESERVATION_MS } from '../lease-row.ts'
import type { Names } from './names.ts'
import { BY_KEY, CLOCK, MILLISECOND, PLACE_WITHOUT_CONNECTION } from './units.ts'
import { announce, commitLazily, endLease, isWatched, tellLoss } from './upkeep.ts'

/** Farther back, a place is the distance of the numbers: those who left in between count as well. */
const EXACT_PLACES = 100

export function transitions(names: Names): string {
  const { waiters, fn, dollars } = names
  const { variables, lock, begin, settle, leaveQueue, save, grant, extend, commitSafely } = steps(names)
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
  ${begin}
  ${settle('not live', '_id')}
  if live and r.id = _id then
    ${commitSafely}
    ${extend('_address')}
  elsif (live and r.token = _replace) or (not live and coalesce(head.id = _id, true)) then
    ${commitSafely}
    if r.id is not null then
      ended := ${fn('describe')}(r, case when live then 'taken-over' else 'expired' end, at);
      ${tellLoss(fn)}
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
          mine.expires_at);
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
  ${begin}
  -- That a lease has expired is told to one caller, ever.
  if live or r.id is null then
    ${commitLazily}
  end if;
  if r.id = _id or (r.id is not null and r.token = _token) then
    ended := ${fn('describe')}(r, case when live then 'released' else 'expired' end, at);
    if r.id is distinct from _id then
      ${tellLoss(fn)}
    end if;
    ${settle('true', '_id')}
    ${endLease(names)}
    ${announce(fn, 'ended')}
    return json_build_object('ended', ended, 'holders', '[]'::json);
  end if;
  ${settle('not live', '_id')}
  ${leaveQueue}
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
  ${begin}
  ${commitLazily}
  ${settle('not live', '_id')}
  ${leaveQueue}
  ${save}
  return null;
end
${dollars};
`
}

/**
 * Steps that several functions share, on the variables below. They are texts and not functions, because a call that
 * passes a row costs about as much as a statement. For the same reason one UPDATE writes a row, instead of
 * assignments to its fields and an UPDATE.
 */
function steps(names: Names) {
  const { table, waiters, fn } = names
  const ttl = `_ttl * ${MILLISECOND}::bigint`
  const returning = `where resource = _resource
    returning ${fn('describe')}(t, 'held', at), ${isWatched(names)} into lease, channel;`
  return {
    variables: `r ${table};
  was ${table};
  head ${waiters};
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;`,

    lock: `select * into r from ${table} where resource = _resource for no key update;`,

    begin: `if not ${fn('is_sound')}(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), ${literal(table)}
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := ${CLOCK};
  was := r;
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  live := coalesce(at < r.expires_at, false);`,

    /** Both are SQL expressions. `asker`: the id that need not be woken, because it is the caller. */
    settle: (isFree: 'not live' | 'true', asker: '_id' | 'null') => `if r.first_place is not null then
    head := ${fn('settle')}(_resource, r.first_place, ${isFree}, at, ${asker});
    r.first_place := head.place;
  end if;`,

    leaveQueue: `if head.id is not null then
    r.first_place := ${fn('leave')}(_resource, _id, head.place);
    if r.first_place is not null then
      head := ${fn('settle')}(_resource, r.first_place, not live, at, _id);
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

    commitSafely: `if current_setting('synchronous_commit') = 'off' then
    commits := set_config('synchronous_commit', 'on', true);
  end if;`,
  }
}
