/**
 * The tables of a store, and the script that brings a database to this version from any other state: an empty one,
 * an older version, or one where something was dropped. It creates only what is missing, so it may run again.
 *
 *     leases    one row per resource: its last lease, and whether anybody waits
 *     waiters   one row per waiter: the queues of all resources
 *     meta      one row: the version, the token floor, when to prune, who watches
 */
import { literal } from '../../clients/sql-text.ts'
import { listing } from './listing.ts'
import type { Names } from './names.ts'
import { queue } from './queue.ts'
import { transitions } from './transitions.ts'
import { CLOCK, PLACE_WITHOUT_CONNECTION } from './units.ts'
import { upkeep } from './upkeep.ts'

/** Raise it with every change of a table or a function. */
export const SCHEMA_VERSION = 3

/** Functions that the store calls. Other processes may be calling them, so they are replaced and never dropped. */
const CALLED = 'acquire renew release abandon sweep hear probe watch read list waiting'.split(' ')
/** Functions that only other functions call. Their parameters differ between versions. */
const INTERNAL = 'is_sound describe tell announce prune make is_dead dismiss settle leave'.split(' ')

/** Without the schema. */
export function functionNames(
  { bare }: Names,
  names: readonly string[] = [...CALLED, ...INTERNAL],
): string[] {
  return names.map((name) => `${bare.table}_${name}`)
}

/** Whether only other functions call the function of this bare name: another version may not have it. */
export function isInternal(names: Names, name: string): boolean {
  return functionNames(names, INTERNAL).includes(name)
}

/** The body of a `do` statement. */
export function installScript(names: Names): string {
  const { schema, table, waiters, meta } = names
  const functions = [upkeep, queue, transitions, listing].map((part) => part(names)).join('\n')
  return `
declare
  statement text;
  installed integer;
begin
  -- Another node may have done it while this one waited for its turn, also a newer one.
  if to_regclass(${literal(meta)}) is not null then
    select max(version) into installed from ${meta};
    if installed > ${SCHEMA_VERSION} or (installed = ${SCHEMA_VERSION} and ${isInstalled(names)}) then
      return;
    end if;
  end if;
  if to_regnamespace(${literal(schema)}) is null then
    execute ${literal(`create schema ${schema}`)};
  end if;
  for statement in
    select 'drop function ' || oid::regprocedure from pg_proc
    where pronamespace = to_regnamespace(${literal(schema)})
      and proname = any (${textArray(functionNames(names, INTERNAL))})
  loop
    execute statement;
  end loop;
  ${tables(names)}
  ${upgradeFrom1(names)}
  for statement in
    select format('grant %s on %s to %s', acl.privilege_type, lacking,
      case acl.grantee when 0 then 'public' else acl.grantee::regrole::text end)
    from pg_class granted, aclexplode(granted.relacl) acl, unnest(${textArray([table, waiters, meta])}) lacking
    where granted.oid = any (${textArray([table, waiters, meta])}::regclass[])
      and not has_table_privilege(acl.grantee, lacking, acl.privilege_type)
  loop
    execute statement;
  end loop;
  execute ${literal(functions)};
  update ${meta} set version = ${SCHEMA_VERSION};
end`
}

/**
 * `span` is the expiry less the clock when it was written. `first_place` is null if nobody waits, and else no waiter
 * has a lower place, so that the head of a queue is found without passing the waiters that have left.
 *
 * A waiter's connection is the one on which its process listens, known by the `pid` and the start of its server
 * process. A waiter without one keeps its place until `expires_at`. Fill factors leave room for HOT updates.
 */
function tables({ table, waiters, meta }: Names): string {
  return `
  create table if not exists ${table} (
    resource text collate "C" primary key,
    token bigint not null,
    id text,
    owner text,
    metadata json,
    acquired_at bigint,
    expires_at bigint,
    span bigint,
    address text,
    ended_at bigint not null
  ) with (fillfactor = 50);
  alter table ${table} add column if not exists first_place bigint;
  alter table ${table} add column if not exists last_place bigint not null default 0;

  create table if not exists ${waiters} (
    resource text collate "C" not null,
    place bigint not null,
    id text not null,
    owner text not null,
    channel text not null,
    pid integer,
    started bigint,
    expires_at bigint,
    reserved_until bigint,
    primary key (resource, place),
    unique (resource, id),
    check (num_nulls(pid, started) in (0, 2) and (pid is null) = (expires_at is not null))
  ) with (fillfactor = 80);

  create table if not exists ${meta} (
    version integer not null,
    floor bigint not null,
    pruned_at bigint not null,
    watch_until bigint not null,
    watch_channel text not null
  );
  insert into ${meta}
    select 0, coalesce(max(token), 0), 0, 0, 'holdfast_' || md5(random()::text || clock_timestamp()::text)
    from ${table} having not exists (select from ${meta});`
}

/** Version 1 had the queue in two arrays of the row. */
function upgradeFrom1({ table, waiters }: Names): string {
  const isColumn = (name: string) => `exists (
    select from pg_attribute where attrelid = ${literal(table)}::regclass and attname = '${name}' and not attisdropped)`
  return `
  if ${isColumn('line')} then
    insert into ${waiters}
      select t.resource, w.place, w.id, '', split_part(w.address, ' ', 1), a[1]::integer, a[2]::bigint,
        case when a is null then ${CLOCK} + ${PLACE_WITHOUT_CONNECTION} end,
        case when w.id = t.reserved_id then t.reserved_until end
      from ${table} t, unnest(t.line, t.addresses) with ordinality as w(id, address, place),
        lateral regexp_match(w.address, '^\\S+ (\\d{1,9}) (\\d{1,18})$') a
      where w.id is not null and w.address is not null
      on conflict do nothing;
    update ${table} set first_place = 1, last_place = cardinality(line) where line <> '{}';
    alter table ${table} drop column line, drop column addresses, drop column reserved_id, drop column reserved_until;
  end if;`
}

function isInstalled(names: Names): string {
  const { schema, table, waiters, meta } = names
  const functions = functionNames(names)
  return `${[table, waiters, meta].map((name) => `to_regclass(${literal(name)}) is not null`).join(' and ')}
    and (select count(distinct proname) from pg_proc where pronamespace = to_regnamespace(${literal(schema)})
      and proname = any (${textArray(functions)})) = ${functions.length}`
}

function textArray(texts: readonly string[]): string {
  return `array[${texts.map(literal).join(', ')}]`
}
