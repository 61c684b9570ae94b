import type { Complete } from '../../base/arguments.ts'
import { type Clock, moment } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { randomId } from '../../base/random-id.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { browserError, nameOf } from '../../clients/browser-errors.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  LeasePage,
  LeaseStore,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  StoreEvent,
  WaitingQuery,
  WaitingQueue,
} from '../../core/index.ts'
import { AGAIN, type Decide, type GatedFile, gatedFile } from '../browser/gated-file.ts'
import type { DirectorySource } from '../browser/platform.ts'
import { Effects } from '../lease-row.ts'
import type { LeaseTable } from '../lease-table.ts'
import type { Work } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { decodeTable, encodeTable, isUndated } from './directory-rows.ts'
import type { DirectoryStoreOptions } from './options.ts'
import { type TabPush, tabPush } from './push.ts'

/** The port on one file of a directory. */
export class DirectoryStore implements LeaseStore {
  readonly kind = 'directory'
  readonly supports = { queue: true, push: true, expiry: true, list: true, share: true }
  readonly #name: string
  readonly #clock: Clock
  readonly #calls: StoreCalls
  readonly #listeners: LocalListeners
  readonly #push: TabPush
  readonly #file: GatedFile
  /** The gate in Firefox, which has no exclusive writers. */
  readonly #locks = globalThis.navigator?.locks as LockManager | undefined
  /** Names this store in the queues: when one of its waiters misses its turn, all of them lose their places. */
  readonly #channel = randomId()

  constructor(directory: DirectorySource, { file: name, clock }: Complete<DirectoryStoreOptions>) {
    const tools = { LeaseError, messageOf, moment, nameOf, pause }
    const release = (by: ReleaseAsk) => this.#releaseWork(by)
    this.#name = name
    this.#clock = clock
    this.#calls = new StoreCalls({ backend: 'directory', explain: browserError, clock, release })
    this.#listeners = new LocalListeners(clock)
    this.#push = tabPush(`holdfast:${name}`, this.#listeners)
    this.#file = gatedFile(tools, directory, name, clock, this.#locks ? true : undefined)
  }

  acquire(request: Ask, call?: CallOptions): Promise<Answer> {
    return this.#calls.acquire(
      request,
      async (stop) => {
        // Another tab may wake or end it before the answer is here.
        this.#listeners.expect(request)
        const answer = await this.#transact((table, now, effects) => {
          // Not thrown here: a new file must be written, because an empty file counts as damaged.
          if (stop.reason) return stop.reason
          const answer = table.acquire(request, this.#channel, now, effects)
          table.prune(now)
          return answer
        }, 'create')
        if (answer instanceof LeaseError) throw answer
        this.#listeners.answered(request, answer)
        return answer
      },
      call,
    )
  }

  renew(request: RenewAsk, call?: CallOptions): Promise<Renewal> {
    return this.#calls.run(
      async () => {
        const renewal = await this.#transact((table, now, effects) => table.renew(request, now, effects))
        if (renewal.ok) this.#listeners.renewed(renewal.lease)
        return renewal
      },
      call,
      request.resource,
    )
  }

  release(by: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.#calls.release(by, this.#releaseWork(by), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<readonly (readonly LeaseRecord[])[]> {
    return this.#look((table, now) => table.read(resources, now), call)
  }

  waiting(query: WaitingQuery, call?: CallOptions): Promise<readonly WaitingQueue[]> {
    return this.#look((table) => table.waiting(query), call)
  }

  list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    return this.#look((table, now) => table.list(query, now), call)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<readonly LeaseRecord[]> {
    const step = (table: LeaseTable, now: number, effects: Effects) => {
      const swept = table.sweep(limit, now, effects)
      table.prune(now)
      return swept
    }
    return this.#calls.run(() => this.#transact(step), call)
  }

  watch(on: (event: StoreEvent) => void, { prefix }: { prefix?: string } = {}): Promise<AsyncDisposable> {
    return this.#calls.run(() => this.#listeners.watch(on, prefix))
  }

  async close(): Promise<void> {
    const closing = this.#calls.close()
    this.#push.close()
    this.#listeners.clear()
    await closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #releaseWork(by: ReleaseAsk): Work<Released> {
    return () => {
      if ('id' in by) this.#listeners.forget(by.id)
      return this.#transact((table, now, effects) => table.release(by, now, effects))
    }
  }

  /** Only with `create`, a missing file is created. */
  async #transact<T>(
    step: (table: LeaseTable, now: number, effects: Effects) => T,
    create?: 'create',
  ): Promise<T> {
    let effects = new Effects()
    const decide: Decide<T> = (content) => {
      effects = new Effects()
      const now = this.#clock.now()
      // The same text is written again, so that the file has a date.
      if (content && isUndated(content, now)) return { result: AGAIN, text: content.text }
      const table = decodeTable(content, now)
      const result = step(table, now, effects)
      const text = encodeTable(table)
      return { result, ...(text !== content?.text && { text }) }
    }
    const change = () => this.#file.change(decide, create === 'create')
    const result = await (this.#locks ? this.#locks.request(`holdfast.gate:${this.#name}`, change) : change())
    this.#push.publish(effects)
    return result
  }

  #look<T>(at: (table: LeaseTable, now: number) => T, call?: CallOptions): Promise<T> {
    return this.#calls.run(async () => {
      const content = await this.#file.read()
      const now = this.#clock.now()
      return at(decodeTable(content, now), now)
    }, call)
  }
}
