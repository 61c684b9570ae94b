import type { DatabaseSync } from 'node:sqlite'
import type { LeaseRecord } from '../../base/records.ts'
import { prepareSqlite } from '../../clients/sqlite.ts'
import { type RowAsk, TOKENS_PER_MS } from '../lease-row.ts'
import { KEEP_FREE_MS } from '../options.ts'
import type { Tables } from './names.ts'
import type { StoredRow, StoredWaiter } from './rows.ts'
import { checkVersion, VERSION } from './schema.ts'

const COLUMNS =
  'resource, token, id, owner, metadata, acquired_at, expires_at, span, ended_at, line, process, leases'
/** Sorts after every name that begins with the prefix: it is longer than any name may be. */
const LAST_SUFFIX = '\u{10ffff}'.repeat(128)

/** A condition on the meta table, with the time as its value: nobody watches, and the tables are of this version. */
const UNWATCHED = `watch_until <= ? AND version = ${VERSION}`

export interface Meta {
  /** The highest token of all rows that were deleted. */
  readonly floor: number
  /** Changes are written to the log while this lies ahead. */
  readonly watchUntil: number
}

export interface StoredChange {
  readonly seq: number
  readonly lease: string
}

/**
 * Every statement of the store, prepared once for its connection. Values stand as plain `?`, in their order: Node
 * before 22.20 and 24.7 takes `?1` for a name, to which it binds nothing.
 */
export class Queries {
  readonly #statements: ReturnType<typeof prepareAll>

  /** `shared`: the application also uses this connection. */
  constructor(db: DatabaseSync, tables: Tables, shared: boolean) {
    this.#statements = prepareAll(db, tables, shared)
  }

  find(resource: string): StoredRow | undefined {
    return this.#statements.find.get(resource) as StoredRow | undefined
  }

  read(resources: readonly string[]): StoredRow[] {
    return rows(this.#statements.read.all(JSON.stringify(resources)))
  }

  /** Whether a lease with this id is in the row, live or not. */
  hasLease(resource: string, id: string): boolean {
    return this.#statements.hasLease.get(resource, id, id) !== undefined
  }

  /** Grants a resource that is free and for which nobody waits, if the token is higher than its last one. */
  grant(request: RowAsk, token: number, now: number): boolean {
    const { resource, id, owner, ttl, metadata, process = null } = request
    const json = metadata ? JSON.stringify(metadata) : null
    const { changes } = this.#statements.grant.run(
      resource,
      token,
      id,
      owner,
      json,
      now,
      now + ttl,
      ttl,
      process,
      now,
      token,
    )
    return Number(changes) === 1
  }

  /** Ends a live lease that still has this expiry, if nobody waits for it. */
  release({ resource, id, expiresAt }: LeaseRecord, now: number): boolean {
    return Number(this.#statements.release.run(now, resource, id, expiresAt, now, now).changes) === 1
  }

  save(row: StoredRow): void {
    this.#statements.save.run(
      row.resource,
      row.token,
      row.id,
      row.owner,
      row.metadata,
      row.acquired_at,
      row.expires_at,
      row.span,
      row.ended_at,
      row.line,
      row.process,
      row.leases,
    )
  }

  waiters(resource: string): StoredWaiter[] {
    return this.#statements.waiters.all(resource) as unknown as StoredWaiter[]
  }

  firstWaiters(resource: string, limit: number): StoredWaiter[] {
    return this.#statements.firstWaiters.all(resource, limit) as unknown as StoredWaiter[]
  }

  waiter(resource: string, id: string): StoredWaiter | undefined {
    return this.#statements.waiter.get(resource, id) as unknown as StoredWaiter | undefined
  }

  /** `0`: nobody waits. */
  lastPlace(resource: string): number {
    const { place } = this.#statements.lastPlace.get(resource) as { place: number | null }
    return place ?? 0
  }

  /** How many waiters have a place between these two. */
  countBetween(resource: string, after: number, before: number): number {
    const { waiters } = this.#statements.countBetween.get(resource, after, before) as { waiters: number }
    return waiters
  }

  join(resource: string, { place, id, channel, owner, share }: StoredWaiter): void {
    this.#statements.join.run(resource, place, id, channel, owner, share)
  }

  /** The waiter goes on at another process. */
  move(resource: string, place: number, channel: string): void {
    this.#statements.move.run(channel, resource, place)
  }

  leave(resource: string, place: number): void {
    this.#statements.leave.run(resource, place)
  }

  removeWaiters(resource: string): void {
    this.#statements.removeWaiters.run(resource)
  }

  list(prefix: string, after: string, now: number, limit: number): StoredRow[] {
    return rows(this.#statements.list.all(after, prefix, prefix + LAST_SUFFIX, now, limit))
  }

  /** Rows with an expired lease, or with a queue that may wait for a dead process. */
  overdue(now: number, limit: number): StoredRow[] {
    return rows(this.#statements.overdue.all(now, limit))
  }

  forgettable(now: number, limit: number): StoredRow[] {
    return rows(this.#statements.forgettable.all(now - KEEP_FREE_MS, limit))
  }

  forget(resource: string): void {
    this.#statements.forget.run(resource)
  }

  /** Inserts a row that no resource can have, and deletes it. In a transaction nobody sees it. */
  tryWriting(): void {
    this.#statements.insertEmpty.run()
    this.forget('')
  }

  meta(): Meta {
    const meta = this.#statements.meta.get() as (Meta & { readonly version: number }) | undefined
    checkVersion(meta?.version)
    return meta as Meta
  }

  setFloor(floor: number): void {
    this.#statements.setFloor.run(floor)
  }

  setWatchUntil(watchUntil: number): void {
    this.#statements.setWatchUntil.run(watchUntil)
  }

  /** Returns the number of the change. */
  append(lease: string): number {
    return Number(this.#statements.append.run(lease).lastInsertRowid)
  }

  changesAfter(seq: number, limit: number): StoredChange[] {
    return this.#statements.changesAfter.all(seq, limit) as unknown as StoredChange[]
  }

  lastChange(): number {
    const { seq } = this.#statements.lastChange.get() as { seq: number | null }
    return seq ?? 0
  }

  trim(upTo: number): void {
    this.#statements.trim.run(upTo)
  }

  /** Another value after every commit of another connection, and of this one if it is shared. */
  changeCounter(): number {
    const { counter } = this.#statements.changeCounter.get() as { counter: number }
    return counter
  }
}

function prepareAll(db: DatabaseSync, { leases, waiters, meta, changes }: Tables, shared: boolean) {
  const statement = (sql: string) => prepareSqlite(db, sql)
  return {
    find: statement(`SELECT ${COLUMNS} FROM ${leases} WHERE resource = ?`),
    read: statement(`SELECT ${COLUMNS} FROM ${leases} WHERE resource IN (SELECT value FROM json_each(?))`),
    hasLease: statement(
      `SELECT 1 FROM ${leases} WHERE resource = ? AND (leases IS NULL AND id = ? OR EXISTS (
         SELECT 1 FROM json_each(leases) WHERE value ->> 'id' = ? AND value ->> 'keptUntil' IS NULL))`,
    ),
    // No RETURNING: its temporary table would cost a third more.
    grant: statement(
      `INSERT INTO ${leases} (${COLUMNS})
       SELECT ?, ?, ?, ?, ?, ?, ?, ?, 0, NULL, ?, NULL FROM ${meta} WHERE ${UNWATCHED} AND floor < ?
       ON CONFLICT (resource) DO UPDATE
       SET token = excluded.token, id = excluded.id, owner = excluded.owner, metadata = excluded.metadata,
           acquired_at = excluded.acquired_at, expires_at = excluded.expires_at, span = excluded.span,
           process = excluded.process
       WHERE id IS NULL AND line IS NULL AND token < excluded.token`,
    ),
    save: statement(
      `INSERT OR REPLACE INTO ${leases} (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    release: statement(
      `UPDATE ${leases}
       SET id = NULL, owner = NULL, metadata = NULL, acquired_at = NULL, expires_at = NULL, span = NULL, ended_at = ?
       WHERE resource = ? AND id = ? AND expires_at = ? AND expires_at > ? AND line IS NULL AND leases IS NULL
         AND EXISTS (SELECT 1 FROM ${meta} WHERE ${UNWATCHED})`,
    ),
    waiters: statement(
      `SELECT place, id, channel, owner, share FROM ${waiters} WHERE resource = ? ORDER BY place`,
    ),
    firstWaiters: statement(
      `SELECT place, id, channel, owner, share FROM ${waiters} WHERE resource = ? ORDER BY place LIMIT ?`,
    ),
    waiter: statement(
      `SELECT place, id, channel, owner, share FROM ${waiters} WHERE resource = ? AND id = ?`,
    ),
    lastPlace: statement(`SELECT max(place) AS place FROM ${waiters} WHERE resource = ?`),
    countBetween: statement(
      `SELECT count(*) AS waiters FROM ${waiters} WHERE resource = ? AND place > ? AND place < ?`,
    ),
    join: statement(
      `INSERT INTO ${waiters} (resource, place, id, channel, owner, share) VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    move: statement(`UPDATE ${waiters} SET channel = ? WHERE resource = ? AND place = ?`),
    leave: statement(`DELETE FROM ${waiters} WHERE resource = ? AND place = ?`),
    removeWaiters: statement(`DELETE FROM ${waiters} WHERE resource = ?`),
    list: statement(
      `SELECT ${COLUMNS} FROM ${leases}
       WHERE resource >= ? AND resource >= ? AND resource <= ? AND id IS NOT NULL
         AND (expires_at > ? OR leases IS NOT NULL)
       ORDER BY resource LIMIT ?`,
    ),
    overdue: statement(
      `SELECT ${COLUMNS} FROM ${leases}
       WHERE expires_at <= ? OR (id IS NULL AND line IS NOT NULL) LIMIT ?`,
    ),
    forgettable: statement(
      `SELECT ${COLUMNS} FROM ${leases}
       WHERE id IS NULL AND line IS NULL AND max(ended_at, token / ${TOKENS_PER_MS}) <= ? LIMIT ?`,
    ),
    forget: statement(`DELETE FROM ${leases} WHERE resource = ?`),
    insertEmpty: statement(`INSERT OR REPLACE INTO ${leases} (resource, token, ended_at) VALUES ('', 0, 0)`),
    meta: statement(`SELECT version, floor, watch_until AS watchUntil FROM ${meta}`),
    setFloor: statement(`UPDATE ${meta} SET floor = ?`),
    setWatchUntil: statement(`UPDATE ${meta} SET watch_until = ?`),
    append: statement(`INSERT INTO ${changes} (lease) VALUES (?)`),
    changesAfter: statement(`SELECT seq, lease FROM ${changes} WHERE seq > ? ORDER BY seq LIMIT ?`),
    lastChange: statement(`SELECT max(seq) AS seq FROM ${changes}`),
    trim: statement(`DELETE FROM ${changes} WHERE seq <= ?`),
    changeCounter: statement(
      `SELECT data_version ${shared ? '+ total_changes()' : ''} AS counter FROM pragma_data_version`,
    ),
  }
}

function rows(found: unknown): StoredRow[] {
  return found as StoredRow[]
}
