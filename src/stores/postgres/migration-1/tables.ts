import type { Names } from '../names.ts'

/** The server refuses a payload of 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7999

/** `span` is the expiry less the clock when it was written; `token` of a new row is the floor. */
export function tables({ table, meta, fn, dollars }: Names): string {
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
