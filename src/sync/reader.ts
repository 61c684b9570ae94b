/**
 * Brings what is stored into the view. Events and messages only say what to read: reads are made one after the
 * other, so what is shown never goes back in time, however late or doubled an event is.
 */
import type { Clock } from '../core/index.ts'
import { STORAGE_KEYS } from './keys.ts'
import type { Layout } from './layout.ts'
import type { Load, Wanted } from './load.ts'
import type { Items, StorageListener } from './storage.ts'
import type { Warn } from './warnings.ts'

const RETRY_MS = 500

export interface ReaderOptions {
  readonly load: Load
  readonly layout: Layout
  /** The ids of what is shown. */
  readonly ids: () => Iterable<string>
  readonly clock: Clock
  readonly warn: Warn
}

/** What has to be read again, and what to do when it has been. */
export interface Stale {
  readonly settings?: boolean
  readonly index?: boolean
  readonly ids?: Iterable<string>
  readonly afterwards?: () => void
}

export interface Reader {
  /** Reads all; rejects when it cannot. What grew stale in the meantime is read after it. */
  readAll(head?: Items): Promise<void>
  /** Waits while `readAll` has not succeeded. */
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

  function stale({ settings = false, index = false, ids = [], afterwards }: Stale): void {
    pending.settings ||= settings
    pending.index ||= index
    for (const id of ids) {
      // Where entities lie in the index, it is the index that is read.
      if (layout.inIndex) pending.index = true
      else pending.ids.add(id)
    }
    if (afterwards) pending.followUps.push(afterwards)
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
    warn('read-failed', 'the storage could not be read', error)
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
