/**
 * Where resources are in the directory, and how they are created and forgotten:
 *
 *     leases/<key>/<incarnation>/<generation>   the history of a resource
 *     floor/<generation>                        the history of the token floor
 *     changes/<key>.<unique>                    files that are being made; the names tell watchers what changes
 *
 * A resource that was free for an hour is forgotten in three steps. If a process dies between two of them, any other
 * process continues. First, a last generation says that nothing follows it. Then the floor is raised to its token.
 * Then the directory of the incarnation is moved away. The name of an incarnation is unique, so a late move cannot
 * hit a later incarnation, and a late link finds no directory. The next incarnation starts with a generation that is
 * free and has no token of its own. A grant after it takes the floor, which is read after that first generation was
 * seen, so after the floor was raised.
 */
import { join, relative } from 'node:path'
import { LeaseError } from '../../base/errors.ts'
import { type Effects, type LeaseRow, newRow, nextToken, type StoredLease } from '../lease-row.ts'
import { withoutGoneHolder } from '../local/process-node.ts'
import { QUARANTINE_MS } from '../options.ts'
import type { Files } from './files.ts'
import {
  addGeneration,
  createHistory,
  fileOf,
  type Generation,
  newestGeneration,
  numbersIn,
} from './generations.ts'
import { keyOf, resourceOf } from './names.ts'
import { decode, encode, isNewer, type Saved } from './rows.ts'
import { TokenFloor } from './token-floor.ts'

/** A row, with what is needed to save it. */
export interface LoadedRow {
  readonly key: string
  readonly generation: Generation
  readonly row: LeaseRow
  /** The row as JSON when it was loaded. If it differs now, the row must be saved. */
  readonly before: string
}

/** The newest generation of a resource. */
export interface Position {
  readonly incarnation: string
  readonly number: number
}

export class LeaseDirectory {
  readonly changes: string
  readonly #directory: string
  readonly #leases: string
  readonly #floor: TokenFloor
  readonly #files: Files
  readonly #instance: string
  #scratches = 0

  /** `instance` is unique among all that use the directory. */
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

  pathOf(key: string): string {
    return join(this.#leases, key)
  }

  async keys(): Promise<readonly string[]> {
    return (await this.#files.list(this.#leases)) ?? []
  }

  /** The present state of a resource; `null`: it has none. Throws if a newer version of Holdfast has written it. */
  async load(key: string, now: number, resource = resourceOf(key)): Promise<LoadedRow | null> {
    const incarnation = await this.#incarnation(key)
    const generation = incarnation && (await newestGeneration(this.#files, incarnation))
    if (!generation) return null
    const saved = this.#decode(key, generation.text)
    if (saved?.forgotten) return null
    if (saved) {
      const loaded = await this.#loaded(key, generation, saved.row)
      // After `before` was taken, so that it is saved: a `lockDelay` counts from when the end was first noticed.
      for (const lease of loaded.row.leases) withoutGoneHolder(lease, now)
      return loaded
    }
    if (isNewer(generation.text)) {
      const file = fileOf(generation.directory, generation.number)
      throw new LeaseError('other-format', `${file} is of a newer version of Holdfast: update this process`)
    }
    return resource === null ? null : this.#quarantined(key, generation, resource, now)
  }

  /** Creates a resource that has no state; `null`: another process was faster, so load it. */
  async create(resource: string, now: number): Promise<LoadedRow | null> {
    const key = keyOf(resource)
    const below = this.#unique()
    const place = this.pathOf(key)
    const row = { ...newRow(resource, 0), endedAt: now }
    const text = encode({ row, ended: [], changed: [], forgotten: false }, below)
    if (!(await createHistory(this.#files, { scratch: this.#scratch(key), below, text, place }))) {
      await this.#makeRoom(key)
      return null
    }
    return this.#loaded(key, { directory: join(place, below), number: 1, text, older: [] }, row)
  }

  /** Saves the row if it changed. False: another process has changed the resource since it was loaded. */
  async save(loaded: LoadedRow, { changes }: Effects): Promise<boolean> {
    if (JSON.stringify(loaded.row) === loaded.before) return true
    // Those that keep the resource are in the row.
    const ended = changes.filter(({ state }) => state !== 'held' && state !== 'kept')
    const changed = changes.filter(({ state }) => state === 'held').map(({ id }) => id)
    return this.#append(loaded, { ended, changed, forgotten: false })
  }

  /** Removes a resource that nobody needs, unless another process has just changed it. */
  async forget(loaded: LoadedRow): Promise<void> {
    if (await this.#append(loaded, { ended: [], changed: [], forgotten: true }))
      await this.#removeForgotten(loaded.key, loaded.generation, loaded.row.token)
  }

  async position(key: string): Promise<Position | null> {
    const incarnation = await this.#incarnation(key)
    const number = incarnation && (await numbersIn(this.#files, incarnation)).at(-1)
    return number ? { incarnation, number } : null
  }

  /** What was saved since `known`, oldest first; `null` stands for generations that are damaged or trimmed. */
  async since(
    key: string,
    known: Position | undefined,
  ): Promise<{ position: Position; saved: (Saved | null)[] } | null> {
    const incarnation = await this.#incarnation(key)
    const numbers = incarnation ? await numbersIn(this.#files, incarnation) : []
    const last = numbers.at(-1)
    if (!incarnation || last === undefined) return null
    const before = known?.incarnation === incarnation ? known.number : 0
    const added = numbers.filter((number) => number > before)
    const texts = await Promise.all(added.map((number) => this.#files.read(fileOf(incarnation, number))))
    const saved = texts.map((text) => (text === null ? null : this.#decode(key, text)))
    if (added.length < last - before) saved.unshift(null)
    return { position: { incarnation, number: last }, saved }
  }

  /** Deletes what unfinished changes have left. A process that still works on one makes it again. */
  async removeLeftovers(isLeftover: (changedAt: number) => boolean): Promise<void> {
    for (const name of (await this.#files.list(this.changes)) ?? []) {
      const path = join(this.changes, name)
      const changedAt = await this.#files.changedAt(path)
      if (changedAt !== null && isLeftover(changedAt)) await this.#files.removeTree(path)
    }
  }

  /** Whether this store created the file in `changes`. */
  isOwn(name: string): boolean {
    return name.includes(this.#instance)
  }

  #unique(): string {
    return `${this.#instance}-${(++this.#scratches).toString(36)}`
  }

  #scratch(key: string): string {
    return join(this.changes, `${key}.${this.#unique()}`)
  }

  async #append({ key, generation, row }: LoadedRow, more: Omit<Saved, 'row'>): Promise<boolean> {
    const text = encode({ row, ...more }, this.#unique())
    if (await addGeneration(this.#files, generation, text, this.#scratch(key))) return true
    // Maybe because the directory was removed.
    await this.prepare()
    return false
  }

  async #incarnation(key: string): Promise<string | null> {
    const names = (await this.#files.list(this.pathOf(key))) ?? []
    const name = names.find((name) => !name.startsWith('.'))
    return name === undefined ? null : join(this.pathOf(key), name)
  }

  #decode(key: string, text: string): Saved | null {
    const saved = decode(text)
    return saved && keyOf(saved.row.resource) === key ? saved : null
  }

  async #loaded(key: string, generation: Generation, row: LeaseRow): Promise<LoadedRow> {
    if (generation.number === 1) row.token = Math.max(row.token, await this.#floor.read())
    return { key, generation, row, before: JSON.stringify(row) }
  }

  /** The damaged state may have been a grant, with the next token and its own TTL, so the resource counts as held. */
  async #quarantined(key: string, generation: Generation, resource: string, now: number): Promise<LoadedRow> {
    const row = (await this.#lastReadable(key, generation)) ?? newRow(resource, await this.#floor.read())
    const left = row.leases.map((lease) => Math.min(lease.expiresAt - now, lease.span))
    const span = Math.max(QUARANTINE_MS, ...left)
    row.token = nextToken(row.token, now)
    const lease: StoredLease = {
      id: `unreadable-${generation.number}`,
      owner: 'an unreadable lease file',
      token: row.token,
      share: null,
      metadata: { file: relative(this.#directory, fileOf(generation.directory, generation.number)) },
      acquiredAt: now,
      expiresAt: now + span,
      span,
    }
    row.leases = [lease]
    return { key, generation, row, before: '' }
  }

  async #lastReadable(key: string, { directory, older }: Generation): Promise<LeaseRow | null> {
    for (const number of older.toReversed()) {
      const saved = this.#decode(key, (await this.#files.read(fileOf(directory, number))) ?? '')
      if (saved) return saved.row
    }
    return null
  }

  /** Removes an incarnation that another process has left half removed. */
  async #makeRoom(key: string): Promise<void> {
    const incarnation = await this.#incarnation(key)
    const generation = incarnation ? await newestGeneration(this.#files, incarnation) : null
    if (generation) {
      const saved = this.#decode(key, generation.text)
      if (saved?.forgotten) await this.#removeForgotten(key, generation, saved.row.token)
    } else {
      if (incarnation) await this.#files.removeDirectory(incarnation)
      await this.#files.removeDirectory(this.pathOf(key))
      await this.prepare()
    }
  }

  async #removeForgotten(key: string, { directory }: Generation, token: number): Promise<void> {
    await this.#floor.raise(token)
    const scratch = this.#scratch(key)
    if (await this.#files.move(directory, scratch)) await this.#files.removeTree(scratch)
    await this.#files.removeDirectory(this.pathOf(key))
  }
}
