import { expectMethods, expectOptions, expectText } from '../../base/arguments.ts'
import { type Clock, expectClock, moment, systemClock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { randomId } from '../../base/random-id.ts'
import { browserError, nameOf } from '../../clients/browser-errors.ts'
import type { CallOptions, LeaseStore, ReleaseAsk, Released } from '../../core/index.ts'
import { AGAIN, type Decide, gatedFile } from '../browser/gated-file.ts'
import type { DirectorySource } from '../browser/platform.ts'
import { Effects } from '../lease-row.ts'
import type { LeaseTable } from '../lease-table.ts'
import type { Work } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { decodeTable, encodeTable, isUndated } from './directory-rows.ts'
import { tabPush } from './push.ts'

export interface DirectoryStoreOptions {
  /** The file in the directory, and the channel by which its tabs wake each other. Default `holdfast.json`. */
  readonly file?: string
  /** The clock that all tabs share. Default: the system's. */
  readonly clock?: Clock
}

/**
 * Leases in one file of a directory: the origin's own (OPFS), or one that the user picked. For browsers without Web
 * Locks, and for leases that should outlive the tab. Pages of another browser do not see them.
 *
 * @example
 * const leases = createLeases(directoryStore(() => navigator.storage.getDirectory()))
 */
export function directoryStore(directory: DirectorySource, options: DirectoryStoreOptions = {}): LeaseStore {
  expectOptions(options, { file: 1, clock: 1 })
  const { file: name = 'holdfast.json', clock = systemClock } = options
  if (typeof directory !== 'function')
    expectMethods('directory', directory, 'a function or a directory handle', 'getFileHandle', 'removeEntry')
  expectText('file', name)
  expectClock('clock', clock)
  const calls = new StoreCalls({ backend: 'directory', explain: browserError, clock, release: releaseWork })
  const listeners = new LocalListeners(clock)
  const push = tabPush(`holdfast:${name}`, listeners)
  // The gate in Firefox, which has no exclusive writers.
  const locks = globalThis.navigator?.locks as LockManager | undefined
  const tools = { LeaseError, messageOf, moment, nameOf, pause }
  const file = gatedFile(tools, directory, name, clock, locks ? true : undefined)
  /** Names this store in the queues: when one of its waiters misses its turn, all of them lose their places. */
  const channel = randomId()

  return {
    kind: 'directory',
    supports: { queue: true, push: true, expiry: true, list: true, share: true },

    acquire: (request, call) =>
      calls.acquire(
        request,
        async (stop) => {
          // Another tab may wake or end it before the answer is here.
          listeners.expect(request)
          const answer = await transact((table, now, effects) => {
            // Not thrown here: a new file must be written, because an empty file counts as damaged.
            if (stop.reason) return stop.reason
            const answer = table.acquire(request, channel, now, effects)
            table.prune(now)
            return answer
          }, 'create')
          if (answer instanceof LeaseError) throw answer
          listeners.answered(request, answer)
          return answer
        },
        call,
      ),

    renew: (request, call) =>
      calls.run(
        async () => {
          const renewal = await transact((table, now, effects) => table.renew(request, now, effects))
          if (renewal.ok) listeners.renewed(renewal.lease)
          return renewal
        },
        call,
        request.resource,
      ),

    release: (by, call) => calls.release(by, releaseWork(by), call),

    read: (resources, call) => look((table, now) => table.read(resources, now), call),

    waiting: (query, call) => look((table) => table.waiting(query), call),

    list: (query, call) => look((table, now) => table.list(query, now), call),

    sweep: ({ limit }, call) =>
      calls.run(
        () =>
          transact((table, now, effects) => {
            const swept = table.sweep(limit, now, effects)
            table.prune(now)
            return swept
          }),
        call,
      ),

    watch: (on, { prefix } = {}) => calls.run(() => listeners.watch(on, prefix)),

    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    const closing = calls.close()
    push.close()
    listeners.clear()
    await closing
  }

  function releaseWork(by: ReleaseAsk): Work<Released> {
    return () => {
      if ('id' in by) listeners.forget(by.id)
      return transact((table, now, effects) => table.release(by, now, effects))
    }
  }

  /** Only with `create`, a missing file is created. */
  async function transact<T>(
    step: (table: LeaseTable, now: number, effects: Effects) => T,
    create?: 'create',
  ): Promise<T> {
    let effects = new Effects()
    const decide: Decide<T> = (content) => {
      effects = new Effects()
      const now = clock.now()
      // The same text is written again, so that the file has a date.
      if (content && isUndated(content, now)) return { result: AGAIN, text: content.text }
      const table = decodeTable(content, now)
      const result = step(table, now, effects)
      const text = encodeTable(table)
      return { result, ...(text !== content?.text && { text }) }
    }
    const change = () => file.change(decide, create === 'create')
    const result = await (locks ? locks.request(`holdfast.gate:${name}`, change) : change())
    push.publish(effects)
    return result
  }

  function look<T>(at: (table: LeaseTable, now: number) => T, call?: CallOptions): Promise<T> {
    return calls.run(async () => {
      const content = await file.read()
      const now = clock.now()
      return at(decodeTable(content, now), now)
    }, call)
  }
}
