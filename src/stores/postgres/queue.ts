/**
 * The queue of one resource. The caller of these functions has locked the row of the resource. They read the waiters
 * in later statements than the one that waited for the lock: each statement sees what was committed before it began.
 */

import type { Names } from './names.ts'
import { STANDBY_WITHIN } from './options.ts'
import { BY_KEY, MAY_SEE_PROCESSES, MILLISECOND, RESERVATION, SECOND } from './units.ts'

export function queue(names: Names): string {
  const functions = [isDead, tell, dismiss, bury, alert, settle, leave]
  return functions.map((text) => text(names)).join('')
}

function isDead({ fn, dollars }: Names): string {
  return `
-- The listening connection of the waiter is gone, so its process is. Another process may have got the same pid.
create function ${fn('is_dead')}(_pid integer, _started bigint) returns boolean language plpgsql
  as ${dollars}
begin
  -- A role that may not see processes takes all for alive. It costs a second when it is their turn.
  if _pid is null or not ${MAY_SEE_PROCESSES} then
    return false;
  end if;
  return not exists (
    select from pg_stat_get_activity(_pid) a
    -- Null for the process of another role: then it must be enough that there is one of this number.
    where coalesce((extract(epoch from a.backend_start) * ${SECOND})::bigint = _started, true));
end
${dollars};
`
}

function tell({ waiters, fn, dollars }: Names): string {
  return `
create function ${fn('tell')}(w ${waiters}, _in numeric) returns void language sql as ${dollars}
  select ${fn('announce')}(nullif(w.channel, ''), json_build_object('wake', _in, 'resource', w.resource, 'id', w.id))
${dollars};
`
}

function dismiss({ waiters, fn, dollars }: Names): string {
  return `
-- A waiter missed its turn. It and all others of its process lose their places, and are told to ask again.
create function ${fn('dismiss')}(absent ${waiters}, _asker text) returns void language plpgsql as ${dollars}
declare
  w ${waiters};
begin
  for w in
    delete from ${waiters} where resource = absent.resource
      and (place = absent.place or (channel = absent.channel and channel <> '')) returning *
  loop
    if w.id is distinct from _asker then
      perform ${fn('tell')}(w, 0);
    end if;
  end loop;
end
${dollars};
`
}

function bury({ waiters, fn, dollars }: Names): string {
  return `
-- All that are dead leave together, wherever they are in the queue.
create function ${fn('bury')}(_resource text, at bigint) returns void ${BY_KEY} as ${dollars}
begin
  delete from ${waiters} where resource = _resource and (expires_at <= at or (pid, started) in (
    select pid, started from (
      select distinct pid, started from ${waiters} where resource = _resource and pid is not null) connections
    where ${fn('is_dead')}(pid, started)));
end
${dollars};
`
}

function alert({ waiters, fn, dollars }: Names): string {
  return `
-- Tells the first waiter behind '_last', which has no reservation, when it may have its turn at the earliest: a shared
-- one when the first lease or reservation ends, an exclusive one when the last does. Those without a connection cannot
-- be told, and ask in time anyway.
create function ${fn('alert')}(_resource text, _last bigint, _soonest bigint, _latest bigint, at bigint, _asker text)
  returns void ${BY_KEY} as ${dollars}
declare
  standby ${waiters};
begin
  select * into standby from (
    select * from ${waiters} where resource = _resource and place > _last order by place limit ${STANDBY_WITHIN}
  ) w where pid is not null and not ${fn('is_dead')}(pid, started) limit 1;
  if standby.id is distinct from _asker then
    perform ${fn('tell')}(standby,
      ceil((case when standby.share is null then _latest else _soonest end - at) / ${MILLISECOND}.0));
  end if;
end
${dollars};
`
}

function settle({ waiters, fn, dollars }: Names): string {
  return `
-- Brings the queue up to this moment: ends a reservation that was not used, and makes the next one if the resource
-- is free. Returns the first waiter, which has the reservation. '_asker' need not be told, because it is the caller.
create function ${fn('settle')}(_resource text, _first bigint, _free boolean, at bigint, _asker text)
  returns ${waiters} ${BY_KEY} as ${dollars}
declare
  head ${waiters};
begin
  loop
    select * into head from ${waiters} where resource = _resource and place >= _first order by place limit 1;
    -- A clock that stepped back must not lengthen anything.
    if head.reserved_until > at + ${RESERVATION} then
      head.reserved_until := at + ${RESERVATION};
      update ${waiters} set reserved_until = head.reserved_until where resource = _resource and place = head.place;
    end if;
    if head.reserved_until <= at then
      perform ${fn('dismiss')}(head, _asker);
    elsif head.id is null or head.reserved_until is not null or not _free then
      return head;
    elsif head.expires_at <= at or ${fn('is_dead')}(head.pid, head.started) then
      perform ${fn('bury')}(_resource, at);
    else
      exit;
    end if;
  end loop;
  head.reserved_until := least(at + ${RESERVATION}, head.expires_at);
  update ${waiters} set reserved_until = head.reserved_until where resource = _resource and place = head.place;
  if head.id is distinct from _asker then
    perform ${fn('tell')}(head, 0);
  end if;
  perform ${fn('alert')}(_resource, head.place, head.reserved_until, head.reserved_until, at, _asker);
  return head;
end
${dollars};
`
}

function leave({ waiters, fn, dollars }: Names): string {
  return `
-- Returns the first place of the queue without this waiter; null if nobody is left. '_first' is that of the head.
create function ${fn('leave')}(_resource text, _id text, _first bigint) returns bigint language plpgsql as ${dollars}
declare
  left_place bigint;
begin
  delete from ${waiters} where resource = _resource and id = _id returning place into left_place;
  if left_place is distinct from _first then
    return _first;
  end if;
  return (select place from ${waiters} where resource = _resource and place > _first order by place limit 1);
end
${dollars};
`
}
