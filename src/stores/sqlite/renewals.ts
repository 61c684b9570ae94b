import { Stop } from '../../base/abort.ts'
import { LeaseError } from '../../base/errors.ts'
import type { RenewAsk, Renewal } from '../../core/index.ts'
import { renew } from '../lease-row.ts'
import { withProcess } from '../local/process-node.ts'
import type { BusyQueue } from './busy-queue.ts'
import { RENEWALS_AT_ONCE } from './options.ts'
import type { Transitions } from './transitions.ts'

interface PendingRenewal {
  readonly request: RenewAsk
  readonly stop: Stop
  resolve(renewal: Renewal): void
  reject(error: unknown): void
}

/**
 * Renewals of one tick of the event loop share a transaction, because a server renews thousands at a time.
 *
 * Not `clients/together.ts`: a batch leaves out the renewals whose callers have gone, and a damaged row fails only its own
 * renewal.
 */
export class Renewals {
  readonly #queue: BusyQueue
  readonly #transitions: Transitions
  readonly #pending: PendingRenewal[] = []

  constructor(queue: BusyQueue, transitions: Transitions) {
    this.#queue = queue
    this.#transitions = transitions
  }

  renew(request: RenewAsk, stop: Stop): Promise<Renewal> {
    const { promise, resolve, reject } = Promise.withResolvers<Renewal>()
    if (this.#pending.push({ request, stop, resolve, reject }) === 1) setImmediate(() => this.#flush())
    return promise
  }

  async #flush(): Promise<void> {
    const batch: PendingRenewal[] = []
    for (const pending of this.#pending.splice(0, RENEWALS_AT_ONCE)) {
      if (pending.stop.reason) pending.reject(pending.stop.reason)
      else batch.push(pending)
    }
    if (this.#pending.length > 0) setImmediate(() => this.#flush())
    if (batch.length === 0) return
    try {
      const answers = await this.#queue.write(() => this.#renewAll(batch), new Stop())
      for (const [n, { resolve, reject }] of batch.entries()) {
        const answer = answers[n]
        if (answer instanceof LeaseError) reject(answer)
        else resolve(answer ?? { ok: false, holders: [] })
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  #renewAll(batch: readonly PendingRenewal[]): (Renewal | LeaseError | undefined)[] {
    return this.#transitions.transact((transaction) =>
      batch.map(({ request }) => {
        try {
          const rowAsk = withProcess(request)
          return transaction.change(request.resource, null, (row, now, effects) =>
            renew(row, rowAsk, now, effects),
          )
        } catch (error) {
          // A damaged row fails only its own renewal.
          if (error instanceof LeaseError) return error
          throw error
        }
      }),
    )
  }
}
