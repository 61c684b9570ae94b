/** Lets this context write alone: under the lock if there is one, and one piece of work after the other. */
import { expectFit } from './fit.ts'
import type { HeldLease, SyncLocks } from './locks.ts'
import type { Writes } from './migrate.ts'
import type { StorageAdapter } from './storage.ts'
import type { WriterTools } from './writer-tools.ts'

export interface ExclusiveWritesOptions {
  readonly storage: StorageAdapter
  readonly locks: SyncLocks | undefined
  readonly lockName: string
}

export class ExclusiveWrites {
  readonly #tools: WriterTools
  readonly #options: ExclusiveWritesOptions
  /** The end of the last work, without locks. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(tools: WriterTools, options: ExclusiveWritesOptions) {
    this.#tools = tools
    this.#options = options
  }

  /** Once the work has begun, its own result counts: records that a lost lock left behind are carried out later. */
  async run<T>(work: (writes: Writes) => Promise<T>): Promise<T> {
    const { locks, lockName } = this.#options
    let result: Promise<T> | undefined
    const begin = (lease?: HeldLease) => {
      result = work(this.#writesUnder(lease))
      return result
    }
    await (locks ? locks.withLease(lockName, begin) : this.#inTurn(begin)).catch((error: unknown) => {
      if (!result) throw error
    })
    return result as Promise<T>
  }

  /** This context is one writer, also if nothing keeps other contexts away. */
  #inTurn(work: () => Promise<unknown>): Promise<unknown> {
    this.#last = this.#last.then(work, work)
    return this.#last
  }

  #writesUnder(lease: HeldLease | undefined): Writes {
    const { storage, lockName } = this.#options
    const { LeaseError, logOf } = this.#tools
    const log = logOf(storage)
    const canWrite = (keys: readonly string[]) => {
      if (lease?.held === false) throw new LeaseError('store-unavailable', `${lockName} was lost`)
      return keys.length > 0
    }
    return {
      set: async (items, to = storage) => {
        const keys = Object.keys(items)
        if (canWrite(keys)) await expectFit(this.#tools, to, items)
        // The lock may have been lost meanwhile.
        if (canWrite(keys)) await to.set(items)
      },
      async remove(keys, records = []) {
        if (log !== storage && canWrite(records)) await log.remove(records)
        const all = log === storage ? [...keys, ...records] : keys
        if (canWrite(all)) await storage.remove(all)
      },
    }
  }
}
