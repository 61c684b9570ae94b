import { STORAGE_KEYS, type Sync } from '../../src/sync/index.ts'
import { type RegisterOperation, registerViolations } from '../../src/testing/history/index.ts'
import type { Item } from './fake-extension.ts'

export type Act = 'set' | 'patch' | 'remove' | 'reset' | 'cleanup' | 'settings'

/** A value that a context shows again after it had shown its removal. */
interface Return {
  readonly id: string
  readonly n: number
  readonly at: number
}

/** What the contexts of an extension write and show, noted outside of what is judged. */
export class SurfaceHistory {
  readonly #operations: RegisterOperation[] = []
  /** The storage was full at some time. */
  hasRefusals = false
  readonly #returns: Return[] = []
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Each set writes a value of its own. */
  get next(): number {
    return this.#operations.length
  }

  perform(surface: Sync<Item>, act: Act, id: string): Promise<unknown> {
    const n = this.next
    const acts: Record<Act, () => Promise<unknown>> = {
      set: () => surface.setEntity(id, { n }),
      patch: () => surface.patchEntity(id, { checked: n % 2 === 0 }),
      remove: () => surface.removeEntity(id),
      reset: () => surface.reset(),
      cleanup: () => surface.cleanupOrphans(),
      settings: () => surface.updateSettings({ themeToken: `#${String(n).padStart(6, '0')}` }),
    }
    const done = acts[act]()
    if (act === 'cleanup' || act === 'settings') return done
    const operation: RegisterOperation = {
      kind: act,
      id: act === 'reset' ? undefined : id,
      n,
      start: this.#now(),
      end: Infinity,
    }
    this.#operations.push(operation)
    done.then(
      () => {
        operation.end = this.#now()
      },
      // A patch of a missing entity did nothing. After another failure it is unknown whether the write was done.
      () => {},
    )
    return done
  }

  /**
   * A value that was stored and then removed must not be shown again. The write of a value that is not yet stored may
   * still come after the removal.
   */
  watch(surface: Sync<Item>): void {
    const shown = new Map<string, number>()
    const gone = new Set<number>()
    const isStored = (n: number) => this.#operations.some((one) => one.n === n && one.end < Infinity)
    surface.subscribe((change) => {
      if (change.type === 'entity') {
        const { n } = change.entity
        shown.set(change.id, n)
        if (gone.has(n)) this.#returns.push({ id: change.id, n, at: this.#now() })
      }
      const removed = change.type === 'removed' ? [shown.get(change.id) ?? -1] : []
      if (change.type === 'cleared') removed.push(...shown.values())
      for (const n of removed) if (isStored(n)) gone.add(n)
    })
  }

  /** Nothing is under way any more, and this is stored. */
  violations(stored: ReadonlyMap<string, Item>): string[] {
    const values = new Map([...stored].map(([id, { n }]) => [id, n]))
    const returns = this.#returns.filter((one) => this.#wasRemoved(one))
    return [
      ...registerViolations(this.#operations, values),
      ...returns.map(({ id, n }) => `${id} (${n}) came back`),
    ]
  }

  /** While the storage refuses writes, a removal that is not acknowledged may be taken back. */
  #wasRemoved({ id, n, at }: Return): boolean {
    const written = this.#operations.find((one) => one.n === n && one.kind === 'set')?.start ?? 0
    return this.#operations.some(
      (one) =>
        (one.kind === 'reset' || (one.kind === 'remove' && one.id === id)) &&
        one.start >= written &&
        (one.end <= at || (one.start <= at && !this.hasRefusals)),
    )
  }
}

function idsIn(items: Record<string, unknown>): string[] {
  return Object.entries(items).flatMap(([key, value]) =>
    key.startsWith(STORAGE_KEYS.index) ? (value as { ids: string[] }).ids : [],
  )
}

export function idsWithoutEntity(items: Record<string, unknown>): string[] {
  return idsIn(items)
    .filter((id) => !(STORAGE_KEYS.entityPrefix + id in items))
    .map((id) => `${id} is in the index without its key`)
}

/** In `storage.sync` an entity exists as long as its key does. */
export function entitiesIn(items: Record<string, unknown>, area: string): Map<string, Item> {
  const all = (items[STORAGE_KEYS.all] ?? {}) as Record<string, Item>
  const { entityPrefix } = STORAGE_KEYS
  const keys = Object.keys(items).filter((key) => key.startsWith(entityPrefix))
  const ids = area === 'sync' ? keys.map((key) => key.slice(entityPrefix.length)) : idsIn(items)
  const indexed = ids.map((id) => [id, items[STORAGE_KEYS.entityPrefix + id] as Item] as const)
  return new Map([...Object.entries(all), ...indexed.filter(([, item]) => item)])
}
