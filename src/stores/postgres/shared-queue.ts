/** The queue of a shared resource: as many of the first waiters as fit together have a reservation. */

import type { Names } from './names.ts'
import { BY_KEY, RESERVATION } from './units.ts'

export function sharedQueue({ waiters, shared, fn, dollars }: Names): string {
  return `
-- Brings the resource up to this moment. Leases that have ended keep it no longer than they may, reservations that
-- were not used end, and the next waiters get theirs, as many as fit. '_asker' need not be told: it is the caller.
create function ${fn('admit')}(_resource text, _first bigint, at bigint, _asker text,
  -- The first place of the queue; null if nobody waits.
  out first bigint,
  -- The leases that are live or still keep the resource, and how many of them there may be.
  out taken bigint, out allowed bigint,
  -- How many waiters have a reservation.
  out reserved bigint,
  -- When the first and the last of these leases and of the reservations end.
  out soonest bigint, out latest bigint,
  -- How long the leases that have ended keep the resource.
  out kept_to bigint,
  -- Whether a lease has expired and was not ended yet.
  out has_expired boolean) ${BY_KEY} as ${dollars}
declare
  w ${waiters};
  -- The last one whose process was looked at: many waiters are of the same.
  alive ${waiters};
  is_stale boolean;
  is_new boolean := false;
  used bigint;
  lowest bigint;
  last bigint;
begin
  reserved := 0;
  loop
    select
      count(*) filter (where s.kept > at), min(s.share) filter (where s.kept > at),
      min(s.kept) filter (where s.kept > at), max(s.kept) filter (where s.kept > at),
      max(s.kept) filter (where s.kept > at and s.is_over), bool_or(s.has_expired), bool_or(s.is_stale)
      into taken, allowed, soonest, latest, kept_to, has_expired, is_stale
      from (
        select ${fn('kept')}(s) as kept, coalesce(s.share, 1) as share,
          s.kept_until is not null or s.expires_at <= at as is_over,
          s.kept_until is null and s.expires_at <= at as has_expired, s.expires_at > at + s.span or (s.at_least is not null and s.acquired_at > at)
        or s.kept_until > at + greatest(s.at_least, s.lock_delay) or s.kept_until <= at as is_stale
        from ${shared} s where s.resource = _resource
        -- So that each of them is computed once.
        offset 0) s;
    exit when is_stale is not true;
    -- A clock that stepped back must not lengthen anything.
    update ${shared} s set
      expires_at = least(s.expires_at, at + s.span),
      acquired_at = case when s.at_least is null then s.acquired_at else least(s.acquired_at, at) end,
      kept_until = case when s.kept_until is not null
        then least(s.kept_until, at + greatest(s.at_least, s.lock_delay)) end
      where s.resource = _resource and (s.expires_at > at + s.span or (s.at_least is not null and s.acquired_at > at)
        or s.kept_until > at + greatest(s.at_least, s.lock_delay));
    delete from ${shared} s where s.resource = _resource and s.kept_until <= at;
  end loop;
  if _first is null then
    return;
  end if;
  <<from_the_first>>
  loop
    first := null;
    last := null;
    used := taken;
    lowest := allowed;
    for w in select * from ${waiters} where resource = _resource and place >= _first order by place loop
      first := coalesce(first, w.place);
      -- A clock that stepped back must not lengthen anything.
      if w.reserved_until > at + ${RESERVATION} then
        w.reserved_until := at + ${RESERVATION};
        update ${waiters} set reserved_until = w.reserved_until where resource = _resource and place = w.place;
      end if;
      if w.reserved_until <= at then
        perform ${fn('dismiss')}(w, _asker);
        continue from_the_first;
      elsif w.reserved_until is null then
        exit when used >= least(lowest, coalesce(w.share, 1));
        if w.expires_at <= at
            or ((w.pid, w.started) is distinct from (alive.pid, alive.started) and ${fn('is_dead')}(w.pid, w.started)) then
          perform ${fn('bury')}(_resource, at);
          continue from_the_first;
        end if;
        alive := w;
        w.reserved_until := least(at + ${RESERVATION}, w.expires_at);
        update ${waiters} set reserved_until = w.reserved_until where resource = _resource and place = w.place;
        if w.id is distinct from _asker then
          perform ${fn('tell')}(w, 0);
        end if;
        is_new := true;
      end if;
      last := w.place;
      used := used + 1;
      lowest := least(lowest, coalesce(w.share, 1));
      soonest := least(soonest, w.reserved_until);
      latest := greatest(latest, w.reserved_until);
    end loop;
    exit;
  end loop;
  reserved := used - taken;
  if is_new then
    perform ${fn('alert')}(_resource, last, soonest, latest, at, _asker);
  end if;
end
${dollars};
`
}
