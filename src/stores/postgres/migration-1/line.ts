import type { Names } from '../names.ts'
import { MILLISECOND, SECOND } from './time.ts'

export const RESERVATION = SECOND

/** Who waits, who is next, and who is not there any more. */
export function line({ table, fn, dollars }: Names): string {
  return `
create function ${fn('is_dead')}(address text) returns boolean language plpgsql as ${dollars}
begin
  return split_part(address, ' ', 2) <> '' and not exists (
    select from pg_stat_get_activity(split_part(address, ' ', 2)::integer) a
    -- Null for the process of another role: then it must be enough that there is one of this number.
    where coalesce((extract(epoch from a.backend_start) * ${SECOND})::bigint = split_part(address, ' ', 3)::bigint, true));
end
${dollars};

create function ${fn('leave')}(r ${table}, _id text) returns ${table} language plpgsql as ${dollars}
declare
  place integer := array_position(r.line, _id);
begin
  if place is not null then
    r.line := r.line[:place - 1] || r.line[place + 1:];
    r.addresses := r.addresses[:place - 1] || r.addresses[place + 1:];
  end if;
  if r.reserved_id = _id then
    r.reserved_id := null;
    r.reserved_until := null;
  end if;
  return r;
end
${dollars};

-- A waiter and, unless it polls, all others of its process lose their places and are told to ask again.
create function ${fn('dismiss')}(r ${table}, _id text, _asker text) returns ${table} language plpgsql as ${dollars}
declare
  absent text := r.addresses[array_position(r.line, _id)];
  waiter text;
begin
  foreach waiter in array r.line loop
    if waiter = _id or (absent <> '' and absent = r.addresses[array_position(r.line, waiter)]) then
      r := ${fn('leave')}(r, waiter);
      if waiter is distinct from _asker then
        perform ${fn('tell')}(absent, 'wake 0 ' || waiter);
      end if;
    end if;
  end loop;
  return ${fn('leave')}(r, _id);
end
${dollars};

-- Brings the row up to this moment: ends a reservation that was not used, and makes the next one.
create function ${fn('settle')}(r ${table}, at bigint, _asker text) returns ${table} language plpgsql as ${dollars}
begin
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  if r.reserved_until <= at then
    r := ${fn('dismiss')}(r, r.reserved_id, _asker);
  elsif r.reserved_until > at + ${RESERVATION} then
    r.reserved_until := at + ${RESERVATION};
  end if;
  if r.reserved_id is not null or r.expires_at > at then
    return r;
  end if;
  while ${fn('is_dead')}(r.addresses[1]) loop
    r := ${fn('dismiss')}(r, r.line[1], _asker);
  end loop;
  if r.line = '{}' then
    return r;
  end if;
  r.reserved_id := r.line[1];
  r.reserved_until := at + ${RESERVATION};
  if r.line[1] is distinct from _asker then
    perform ${fn('tell')}(r.addresses[1], 'wake 0 ' || r.line[1]);
  end if;
  if r.line[2] is distinct from _asker then
    perform ${fn('tell')}(r.addresses[2], 'wake ${RESERVATION / MILLISECOND} ' || r.line[2]);
  end if;
  return r;
end
${dollars};
`
}
