/**
 * Where resources live in the directory, and how they come and go:
 *
 *     leases/<key>/<incarnation>/<generation>   the lineage of a resource
 *     floor/<generation>                        the lineage of the token floor
 *     changes/<key>.<unique>                    what is being made; the names tell watchers which resource changed
 *
 * A resource that was free for an hour is forgotten in three steps, each of which anybody may take up if the one
 * before him died: a last generation says that nothing follows it; the floor is raised to its token; the directory
 * of the incarnation is moved away. Its name is unique, so a late mover cannot hit a later incarnation, and a late
 * linker finds no directory. The next one starts with a first generation that is free and has no token of its own:
 * who grants on top of it takes the floor, read after that first generation was seen, hence after it was raised.
 */
import { join, relative } from 'node:path'
import type { LeaseRecord } from '../../core/index.ts'
import { type LeaseRow, newRow } from '../lease-row.ts'
import type { Files } from './files.ts'
import { decode, encode, type Saved } from './format.ts'
import { advance, fileOf, found, type Generation, newest, numbersIn } from './lineage.ts'
import { keyOf, resourceOf } from './names.ts'
import { TokenFloor } from './token-floor.ts'

/** How long a resource with an unreadable generation counts as held, from when it was first noticed. */
const QUARANTINE_MS = 30_000

export interface Entry {
  readonly key: string
  readonly generation: Generation
  readonly row: LeaseRow
  /** The row as its file has it; anything else has to be saved. */
  readonly stored: string
}

export interface Position {
  readonly incarnation: string
  readonly number: number
}

export class Ledger {
  readonly changes: string
  readonly #directory: string
  readonly #leases: string
  readonly #floor: TokenFloor
  readonly #files: Files
  readonly #instance: string
  #made = 0

  /** `instance` tells this ledger from every other on the same directory. */
  constructor(directory: string, files: Files, instance: string) {
    this.changes = join(directory, 'changes')
    this.#directory = directory
    this.#leases = join(directory, 'leases')
    this.#floor = new TokenFloor(files, join(directory, 'floor'), () => this.#scratch('floor'))
    this.#files = files
    this.#instance = instance
  }

  async prepare(): Promise<void> {
    await this.#files.makeDirectory(this.#leases)
    await this.#files.makeDirectory(this.changes)
  }

  placeOf(key: string): string {
    return join(this.#leases, key)
  }

  async keys(): Promise<readonly string[]> {
    return (await this.#files.list(this.#leases)) ?? []
  }

  /** The present state of a resource; `null` when it has none. */
  async load(key: string, now: number, resource = resourceOf(key)): Promise<Entry | null> {
    const incarnation = await this.#incarnation(key)
    const generation = incarnation && (await newest(this.#files, incarnation))
    if (!generation) return null
    const saved = this.#decode(key, generation.text)
    if (saved?.forgotten) return null
    if (saved) return this.#entry(key, generation, saved.row)
    return resource === null ? null : this.#unreadable(key, generation, resource, now)
  }

  /** Makes a resource that has no state yet; `null`: another was faster, load it. */
  async create(resource: string, now: number): Promise<Entry | null> {
    const key = keyOf(resource)
    const below = this.#unique()
    const place = this.placeOf(key)
    const row = { ...newRow(resource, 0), endedAt: now }
    const text = encode({ row, ended: null, forgotten: false }, below)
    if (!(await found(this.#files, { scratch: this.#scratch(key), below, text, place }))) {
      await this.#clear(key)
      return null
    }
    return this.#entry(key, { directory: join(place, below), number: 1, text, older: [] }, row)
  }

  /** Saves the row if it changed. False: another changed the resource since it was loaded. */
  async save(entry: Entry, ended: LeaseRecord | null): Promise<boolean> {
    return JSON.stringify(entry.row) === entry.stored || this.#append(entry, { ended, forgotten: false })
  }

  /** Removes a resource that nobody needs any more, unless somebody has just begun to. */
  async forget(entry: Entry): Promise<void> {
    if (await this.#append(entry, { ended: null, forgotten: true }))
      await this.#bury(entry.key, entry.generation, entry.row.token)
  }

  async position(key: string): Promise<Position | null> {
    const incarnation = await this.#incarnation(key)
    const number = incarnation && (await numbersIn(this.#files, incarnation)).at(-1)
    return number ? { incarnation, number } : null
  }

  /** What was saved since `known`, oldest first; `null` stands for what is unreadable, or trimmed already. */
  async since(
    key: string,
    known: Position | undefined,
  ): Promise<{ at: Position; saved: (Saved | null)[] } | null> {
    const incarnation = await this.#incarnation(key)
    const numbers = incarnation ? await numbersIn(this.#files, incarnation) : []
    const last = numbers.at(-1)
    if (!incarnation || last === undefined) return null
    const before = known?.incarnation === incarnation ? known.number : 0
    const news = numbers.filter((number) => number > before)
    const texts = await Promise.all(news.map((number) => this.#files.read(fileOf(incarnation, number))))
    const saved = texts.map((text) => (text === null ? null : this.#decode(key, text)))
    if (news.length < last - before) saved.unshift(null)
    return { at: { incarnation, number: last }, saved }
  }

  /** Deletes what unfinished changes have left. Whoever is still at one makes it again. */
  async removeLitter(isLitter: (changedAt: number) => boolean): Promise<void> {
    for (const name of (await this.#files.list(this.changes)) ?? []) {
      const path = join(this.changes, name)
      const changedAt = await this.#files.changedAt(path)
      if (changedAt !== null && isLitter(changedAt)) await this.#files.removeTree(path)
    }
  }

  /** Whether a file in `changes` is of this ledger. */
  isOwn(name: string): boolean {
    return name.includes(this.#instance)
  }

  #unique(): string {
    return `${this.#instance}-${(++this.#made).toString(36)}`
  }

  #scratch(key: string): string {
    return join(this.changes, `${key}.${this.#unique()}`)
  }

  async #append({ key, generation, row }: Entry, more: Omit<Saved, 'row'>): Promise<boolean> {
    const text = encode({ row, ...more }, this.#unique())
    if (await advance(this.#files, generation, text, this.#scratch(key))) return true
    // It may also be that somebody removed the directory.
    await this.prepare()
    return false
  }

  async #incarnation(key: string): Promise<string | null> {
    const names = (await this.#files.list(this.placeOf(key))) ?? []
    const name = names.find((name) => !name.startsWith('.'))
    return name === undefined ? null : join(this.placeOf(key), name)
  }

  #decode(key: string, text: string): Saved | null {
    const saved = decode(text)
    return saved && keyOf(saved.row.resource) === key ? saved : null
  }

  async #entry(key: string, generation: Generation, row: LeaseRow): Promise<Entry> {
    if (generation.number === 1) row.token = Math.max(row.token, await this.#floor.read())
    return { key, generation, row, stored: JSON.stringify(row) }
  }

  /** As held by nobody knows whom: the lost state may have been a grant, with the next token and its own TTL. */
  async #unreadable(key: string, generation: Generation, resource: string, now: number): Promise<Entry> {
    const row = (await this.#lastReadable(key, generation)) ?? newRow(resource, await this.#floor.read())
    const left = row.lease ? Math.min(row.lease.expiresAt - now, row.lease.span) : 0
    const span = Math.max(QUARANTINE_MS, left)
    row.token = Math.max(row.token + 1, Math.floor(now * 1000))
    row.lease = {
      id: `unreadable-${generation.number}`,
      owner: 'an unreadable lease file',
      metadata: { file: relative(this.#directory, fileOf(generation.directory, generation.number)) },
      acquiredAt: now,
      expiresAt: now + span,
      span,
    }
    return { key, generation, row, stored: '' }
  }

  async #lastReadable(key: string, { directory, older }: Generation): Promise<LeaseRow | null> {
    for (const number of older.toReversed()) {
      const saved = this.#decode(key, (await this.#files.read(fileOf(directory, number))) ?? '')
      if (saved) return saved.row
    }
    return null
  }

  /** Makes room for a new incarnation where the last one was left half removed. */
  async #clear(key: string): Promise<void> {
    const incarnation = await this.#incarnation(key)
    const generation = incarnation ? await newest(this.#files, incarnation) : null
    if (generation) {
      const saved = this.#decode(key, generation.text)
      if (saved?.forgotten) await this.#bury(key, generation, saved.row.token)
    } else {
      if (incarnation) await this.#files.removeDirectory(incarnation)
      await this.#files.removeDirectory(this.placeOf(key))
      await this.prepare()
    }
  }

  async #bury(key: string, { directory }: Generation, token: number): Promise<void> {
    await this.#floor.raise(token)
    const grave = this.#scratch(key)
    if (await this.#files.move(directory, grave)) await this.#files.removeTree(grave)
    await this.#files.removeDirectory(this.placeOf(key))
  }
}
