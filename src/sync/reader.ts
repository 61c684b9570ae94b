/**
 * Decides when to read the storage into the view. Events and messages only name what to read. Reads run one after
 * the other, so the view never goes back to older data, even if an event comes late or twice.
 */
import type { Clock } from '../base/clock.ts'
import { type Layout, STORAGE_KEYS } from './layout.ts'
import type { Load, Wanted } from './load.ts'
import type { Items, StorageListener } from './storage.ts'
import type { Warn } from './warnings.ts'

const RETRY_MS = 500

export interface ReaderOptions {
  readonly load: Load
  readonly layout: Layout
  /** The ids of the shown entities. */
  readonly ids: () => Iterable<string>
  readonly clock: Clock
  readonly warn: Warn
}

/** What must be read again, and what to do after the read. */
export interface Stale {
  readonly settings?: boolean
  readonly index?: boolean
  readonly ids?: Iterable<string>
  readonly afterRead?: () => void
}

export interface Reader {
  /** Reads everything, and rejects if that fails. Data that became stale meanwhile is read afterwards. */
  readAll(head?: Items): Promise<void>
  /** Reads this again. Before the first `readAll` has succeeded, the request waits. */
  stale(what: Stale): void
  readonly onChanged: StorageListener
  close(): void
}

interface Pending extends Wanted {
  settings: boolean
  index: boolean
  readonly ids: Set<string>
  readonly followUps: (() => void)[]
}

const nothing = (): Pending => ({ settings: false, index: false, ids: new Set(), followUps: [] })

export function createReader({ load, layout, ids, clock, warn }: ReaderOptions): Reader {
  let pending = nothing()
  let state: 'new' | 'idle' | 'reading' | 'closed' = 'new'
  let cancelRetry = () => {}

  return {
    async readAll(head) {
      await load({ ...nothing(), settings: true, index: true }, head)
      if (state === 'new') state = 'idle'
      void readPending()
    },
    stale,
    onChanged(changes) {
      // `null`: anything may have changed.
      if (!changes) return stale({ settings: true, index: true, ids: ids() })
      const subjects = Object.keys(changes).map((key) => layout.subject(key))
      stale({
        settings: STORAGE_KEYS.settings in changes,
        index: subjects.some((subject) => subject && 'index' in subject),
        ids: subjects.flatMap((subject) => subject?.id ?? []),
      })
    },
    close() {
      state = 'closed'
      cancelRetry()
    },
  }

  function stale({ settings = false, index = false, ids = [], afterRead }: Stale): void {
    pending.settings ||= settings
    pending.index ||= index
    for (const id of ids) {
      // If the index contains the entities, read the index.
      if (layout.inIndex) pending.index = true
      else pending.ids.add(id)
    }
    if (afterRead) pending.followUps.push(afterRead)
    void readPending()
  }

  async function readPending(): Promise<void> {
    while (state === 'idle' && isSomething(pending)) {
      state = 'reading'
      const taken = pending
      pending = nothing()
      try {
        await load(taken)
      } catch (error) {
        return tryLater(taken, error)
      }
      if (state === 'reading') state = 'idle'
      for (const followUp of taken.followUps) followUp()
    }
  }

  function tryLater(taken: Pending, error: unknown): void {
    if (state === 'closed') return
    warn('read-failed', 'the storage could not be read; the read is repeated', error)
    const { settings, index, ids, followUps } = pending
    pending = taken
    pending.followUps.push(...followUps)
    stale({ settings, index, ids })
    cancelRetry = clock.setTimer(() => {
      state = 'idle'
      void readPending()
    }, RETRY_MS)
  }
}

function isSomething({ settings, index, ids, followUps }: Pending): boolean {
  return settings || index || ids.size > 0 || followUps.length > 0
}
