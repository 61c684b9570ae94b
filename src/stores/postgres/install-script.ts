/**
 * The tables of a store, and the script that brings a database to this version from any other state: an empty one,
 * an older version, or one where something was dropped. It creates only what is missing, so it may run again.
 *
 *     leases    one row per resource: its last lease, and whether anybody waits
 *     waiters   one row per waiter: the queues of all resources
 *     shared    one row per lease of a resource that has, or had a moment ago, others than one exclusive lease
 *     meta      one row: the version, the token floor, when to prune, who watches
 *
 * Each function is one text in plain SQL: fill in the names, and it can be read, changed and tried in `psql`. Steps that
 * several functions have are repeated in them, because a call that passes a row costs about as much as a statement. For
 * the same reason one UPDATE writes a row, instead of assignments to its fields and an UPDATE.
 *
 * Only who has locked the row of a resource changes its waiters and shared leases. A statement that waits for the rows
 * of several resources takes them in the order of their names, and one that takes them in another order never waits.
 */
import { literal } from '../../clients/sql-text.ts'
import type { Names } from './names.ts'
import { queue } from './queue.ts'
import { readFunctions } from './read-functions.ts'
import { sharing } from './shared-leases.ts'
import { sharedQueue } from './shared-queue.ts'
import { transitions } from './transitions.ts'
import { CLOCK, PLACE_WITHOUT_CONNECTION } from './units.ts'
import { upkeep } from './upkeep.ts'

/** Raise it with every change of a table or a function. */
export const SCHEMA_VERSION = 9
/** Nodes of this version and newer ones may use the tables. Raise it when older functions or columns are removed. */
const OLDEST_VERSION = 2

/** Functions that the store calls. Other processes may be calling them, so they are replaced and never dropped. */
const CALLED =
  'acquire ask together renew release abandon sweep hear probe watch read page list waiting'.split(' ')
/** Functions that only other functions call. Their parameters differ between versions. */
const INTERNAL = [
  'is_whole describe tell announce prune tidy make is_dead dismiss settle leave',
  'alert bury kept show finish retry_at admit prolong free expire',
]
  .join(' ')
  .split(' ')
/**
 * Internal functions of earlier versions. A call that waits for the upgrade to end continues with the old function,
 * which knows no shared leases. It needs one of these, so it fails and is repeated.
 */
const REMOVED = ['is_sound']

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

/** The statements that create the functions, in the order in which they need each other. */
export function functionTexts(names: Names): string {
  const parts = [upkeep, queue, sharedQueue, transitions, sharing, readFunctions]
  return parts.map((part) => part(names)).join('\n')
}

/** The body of a `do` statement. */
export function installScript(names: Names): string {
  const { bare, schema, meta, tables } = names
  return `
declare
  statement text;
  installed integer;
begin
  -- Read from the table: a lookup by name may be answered from a cache that is older than this turn.
  if not exists (select from pg_namespace where nspname = ${literal(bare.schema)}) then
    execute ${literal(`create schema ${schema}`)};
  end if;
  -- Another node may have done it while this one waited for its turn, also a newer one.
  if to_regclass(${literal(meta)}) is not null then
    select max(version) into installed from ${meta};
    if installed > ${SCHEMA_VERSION} or (installed = ${SCHEMA_VERSION} and ${isInstalled(names)}) then
      return;
    end if;
  end if;
  for statement in
    select 'drop function ' || oid::regprocedure from pg_proc
    where pronamespace = to_regnamespace(${literal(schema)})
      and proname = any (${textArray(functionNames(names, [...INTERNAL, ...REMOVED]))})
  loop
    execute statement;
  end loop;
  ${createTables(names)}
  ${upgradeFrom1(names)}
  for statement in
    select format('grant %s on %s to %s', acl.privilege_type, lacking,
      case acl.grantee when 0 then 'public' else acl.grantee::regrole::text end)
    from pg_class granted, aclexplode(granted.relacl) acl, unnest(${textArray(tables)}) lacking
    where granted.oid = any (${textArray(tables)}::regclass[])
      and not has_table_privilege(acl.grantee, lacking, acl.privilege_type)
  loop
    execute statement;
  end loop;
  execute ${literal(functionTexts(names))};
  update ${meta} set version = ${SCHEMA_VERSION}, oldest = ${OLDEST_VERSION};
end`
}

/**
 * `span` is the expiry less the clock when it was written. `first_place` is null if nobody waits, and else no waiter
 * has a lower place, so that the head of a queue is found without passing the waiters that have left.
 *
 * If `shared` is true, the leases are rows of their own, and the row of the resource has none. In them, `kept_until`
 * is set if the lease has ended and still keeps the resource. A `share` that is null is exclusive.
 *
 * A waiter's connection is the one on which its process listens, known by the `pid` and the start of its server
 * process. A waiter without one keeps its place until `expires_at`. Fill factors leave room for HOT updates.
 */
function createTables({ table, waiters, shared, meta }: Names): string {
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
  alter table ${table} add column if not exists shared boolean not null default false;

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
  alter table ${waiters} add column if not exists share bigint;

  create table if not exists ${shared} (
    resource text collate "C" not null,
    token bigint not null,
    id text not null,
    owner text not null,
    metadata json,
    share bigint,
    acquired_at bigint not null,
    expires_at bigint not null,
    span bigint not null,
    address text,
    at_least bigint,
    lock_delay bigint,
    kept_until bigint,
    primary key (resource, token),
    unique (resource, id, token),
    check (share >= 1 and json_typeof(metadata) = 'object')
  ) with (fillfactor = 50);

  create table if not exists ${meta} (
    version integer not null,
    floor bigint not null,
    pruned_at bigint not null,
    watch_until bigint not null,
    watch_channel text not null
  );
  alter table ${meta} add column if not exists oldest integer;
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
  const { schema, tables } = names
  const functions = functionNames(names)
  return `${tables.map((name) => `to_regclass(${literal(name)}) is not null`).join(' and ')}
    and (select count(distinct proname) from pg_proc where pronamespace = to_regnamespace(${literal(schema)})
      and proname = any (${textArray(functions)})) = ${functions.length}`
}

function textArray(texts: readonly string[]): string {
  return `array[${texts.map(literal).join(', ')}]`
}
