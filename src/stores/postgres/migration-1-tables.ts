/**
 * Migration 1, first part: the tables, the functions that only other functions call, and texts that several
 * functions contain. Released: never change it. A later change is migration 2.
 */
import { literal } from '../../clients/sql-text.ts'
import type { Names } from './names.ts'

/** Times in the tables are microseconds since 1970. */
export const MILLISECOND = 1000
export const SECOND = 1000 * MILLISECOND
const HOUR = 3600 * SECOND

export const CLOCK = `(extract(epoch from clock_timestamp()) * ${SECOND})::bigint`

/**
 * A copy of `RESERVATION_MS` in `lease-row.ts`, because the text of a released migration must not change. If that
 * constant changes, a test fails, and a new migration has to replace the functions that contain this number.
 */
export const MIGRATION_1_RESERVATION_MS = 1000
const RESERVATION = MIGRATION_1_RESERVATION_MS * MILLISECOND

/** The server refuses a payload of 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7999
/** How long a free row is kept, so that its token outlives a clock that steps back. */
const KEEP_FREE = HOUR
const PRUNE_EVERY = HOUR / 6
const PRUNE_AT_ONCE = 1000

export function tablesAndHelpers(names: Names): string {
  return [tables, queue, pruning].map((part) => part(names)).join('\n')
}

/** `span` is the expiry less the clock when it was written. `token` of a new row is the floor. */
function tables({ table, meta, fn, dollars }: Names): string {
  return `
create table ${table} (
  resource text collate "C" primary key,
  token bigint not null,
  id text,
  owner text,
  metadata json,
  acquired_at bigint,
  expires_at bigint,
  span bigint,
  address text,
  ended_at bigint not null,
  line text[] not null default '{}',
  addresses text[] not null default '{}',
  reserved_id text,
  reserved_until bigint
) with (fillfactor = 50);

create table ${meta} (
  version integer not null,
  floor bigint not null,
  pruned_at bigint not null,
  watch_until bigint not null,
  watch_channel text not null
);
insert into ${meta} values (0, 0, 0, 0, 'holdfast_' || md5(random()::text || clock_timestamp()::text));

create function ${fn('is_sound')}(r ${table}) returns boolean language sql immutable as ${dollars}
  select cardinality(r.line) = cardinality(r.addresses)
    and array_position(r.line, null) is null and array_position(r.addresses, null) is null
    and (r.reserved_id is null) = (r.reserved_until is null)
    and num_nulls(r.id, r.owner, r.acquired_at, r.expires_at, r.span) in (0, 5)
    and coalesce(json_typeof(r.metadata) = 'object', true)
${dollars};

create function ${fn('describe')}(r ${table}, state text, at bigint) returns json language sql stable as ${dollars}
  select json_build_object(
    'resource', r.resource, 'id', r.id, 'owner', r.owner, 'token', r.token, 'metadata', r.metadata,
    'acquiredAt', r.acquired_at / 1000,
    'expiresAt', least(r.expires_at, at + r.span) / 1000,
    'remaining', case state when 'held' then (least(r.expires_at, at + r.span) - at) / 1000 else 0 end,
    'state', state)
${dollars};

create function ${fn('tell')}(address text, payload text) returns void language sql as ${dollars}
  select case when address <> '' then pg_notify(split_part(address, ' ', 1), left(payload, 1900)) end
${dollars};

-- A change that is too long to be told makes the watcher read the row.
create function ${fn('announce')}(channel text, change json) returns void language sql as ${dollars}
  select case
    when octet_length(change::text) <= ${MAX_PAYLOAD_BYTES} then pg_notify(channel, change::text)
    when change is not null then pg_notify(channel, json_build_object('resource', change->'resource')::text) end
${dollars};
`
}

/** The queue of waiters (the columns `line` and `addresses`), and the reservation for the first one. */
function queue({ table, fn, dollars }: Names): string {
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
    perform ${fn('tell')}(r.addresses[2], 'wake ${MIGRATION_1_RESERVATION_MS} ' || r.line[2]);
  end if;
  return r;
end
${dollars};
`
}

function pruning({ table, meta, fn, dollars }: Names): string {
  return `
-- Drops rows that nobody needs. Their tokens must not be given again: the floor rises in the same transaction.
create function ${fn('prune')}(at bigint) returns void language plpgsql as ${dollars}
declare
  highest bigint;
  dropped integer;
begin
  perform from ${meta} for update skip locked;
  if not found then
    return;
  end if;
  with doomed as (
    select resource from ${table}
    where id is null and line = '{}' and reserved_id is null and greatest(ended_at, token) + ${KEEP_FREE} <= at
    limit ${PRUNE_AT_ONCE} for update skip locked
  ), gone as (
    delete from ${table} t using doomed where t.resource = doomed.resource returning t.token
  )
  select max(token), count(*) into highest, dropped from gone;
  update ${meta} set
    floor = greatest(floor, highest),
    pruned_at = case when dropped < ${PRUNE_AT_ONCE} then at else pruned_at end;
end
${dollars};

-- Only here the table grows, so here it is pruned, and no sweeper is needed for that.
create function ${fn('make')}(_resource text) returns ${table} language plpgsql as ${dollars}
declare
  r ${table};
  m ${meta};
begin
  loop
    insert into ${table} (resource, token, ended_at) values (_resource, 0, ${CLOCK})
      on conflict do nothing returning * into r;
    if found then
      -- After the insertion, which waits for a deletion of the same resource that raises the floor.
      select * into m from ${meta};
      if m.pruned_at + ${PRUNE_EVERY} < r.ended_at or m.pruned_at > r.ended_at then
        perform ${fn('prune')}(r.ended_at);
      end if;
      r.token := m.floor;
      return r;
    end if;
    select * into r from ${table} where resource = _resource for no key update;
    if found then
      return r;
    end if;
  end loop;
end
${dollars};`
}

/**
 * Steps that several functions share, on the variables below. They are texts and not functions, because a call that
 * passes a row costs about as much as a statement. For the same reason one UPDATE writes a row, instead of
 * assignments to its fields and an UPDATE.
 */
export function steps({ table, meta, fn }: Names) {
  const line = `line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until`
  /** The UPDATE reads it. A new watcher waits until the UPDATEs that did not see it have ended. */
  const watched = `(select watch_channel from ${meta} where watch_until > at)`

  return {
    variables: `r ${table};
  was ${table};
  at bigint;
  lease json;
  ended json;
  channel text;
  commits text;`,

    lock: `select * into r from ${table} where resource = _resource for no key update;`,

    /** `asker` is an SQL expression: the id that need not be woken, because it is the caller. */
    settle: (asker: '_id' | 'null') => `if not ${fn('is_sound')}(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), ${literal(table)}
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := ${CLOCK};
  was := r;
  if r.line <> '{}' or r.reserved_id is not null or r.expires_at > at + r.span then
    r := ${fn('settle')}(r, at, ${asker});
  end if;`,

    grant: `update ${table} t set
      token = greatest(r.token + 1, at), id = _id, owner = _owner, metadata = _metadata::json, acquired_at = at,
      expires_at = at + _ttl * ${MILLISECOND}::bigint, span = _ttl * ${MILLISECOND}::bigint, address = _address,
      ${line}
    where resource = _resource
    returning ${fn('describe')}(t, 'held', at), ${watched} into lease, channel;`,

    /** `address` is an SQL expression. */
    extend: (address: string) => `r.expires_at := greatest(r.expires_at, at + _ttl * ${MILLISECOND}::bigint);
    update ${table} t set
      expires_at = r.expires_at, span = r.expires_at - at, address = ${address},
      ${line}
    where resource = _resource
    returning ${fn('describe')}(t, 'held', at), ${watched} into lease, channel;`,

    end: `update ${table} set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at,
      ${line}
    where resource = r.resource
    returning ${watched} into channel;`,

    saveLine: `if r *<> was then
      update ${table} set
        expires_at = r.expires_at,
        ${line}
      where resource = _resource;
    end if;`,

    announce: (...changes: readonly string[]) => `if channel is not null then
    perform ${changes.map((change) => `${fn('announce')}(channel, ${change})`).join(', ')};
  end if;`,

    commitSafely: `if current_setting('synchronous_commit') = 'off' then
    commits := set_config('synchronous_commit', 'on', true);
  end if;`,

    commitLazily: `commits := set_config('synchronous_commit', 'off', true);`,
  }
}
