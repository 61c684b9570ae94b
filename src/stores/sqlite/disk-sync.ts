import { open } from 'node:fs/promises'
import { LeaseError, messageOf } from '../../base/errors.ts'

/**
 * Waits until all that was committed is on the disk. Calls that come while a sync is under way share the next one, so
 * a burst of them waits for the disk a few times, and the event loop never does. SQLite itself writes the disk in the
 * same order: it syncs the log before it moves pages from there to the database.
 *
 * Not `clients/together.ts`: a call has nothing to send and gets no answer, and it may not share a sync that has begun.
 */
export class DiskSync {
  readonly #sync: () => Promise<void>
  #underWay: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(sync: () => Promise<void>) {
    this.#sync = sync
  }

  /** Of the write-ahead log of this database. */
  static ofLog(path: string): DiskSync {
    return new DiskSync(async () => {
      try {
        // Windows syncs only files that are open for writing.
        await using log = await open(`${path}-wal`, 'r+')
        await log.datasync()
      } catch (cause) {
        const message = `${path} cannot be written to the disk: ${messageOf(cause)}`
        // What the call has done is not known, and a repeat with the same id finds out.
        throw new LeaseError('store-unavailable', message, { cause })
      }
    })
  }

  finished(): Promise<void> {
    this.#next ??= this.#start()
    return this.#next
  }

  async #start(): Promise<void> {
    // If that one fails, its own callers are told.
    await this.#underWay.catch(() => {})
    this.#underWay = this.#next ?? Promise.resolve()
    this.#next = undefined
    await this.#sync()
  }
}
