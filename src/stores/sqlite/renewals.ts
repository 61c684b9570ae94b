import { LeaseError, type Renewal } from '../../core/index.ts'
import { renew } from '../lease-row.ts'
import { closedError } from './errors.ts'
import { type Gate, orAborted } from './gate.ts'
import type { Ledger } from './ledger.ts'
import type { Step } from './transaction.ts'

/** So that a batch of many thousands does not stop the event loop. */
const BATCH = 500

interface Renewing {
  readonly resource: string
  readonly step: Step<Renewal>
  readonly signal: AbortSignal | undefined
  resolve(renewal: Renewal): void
  reject(error: unknown): void
}

const NOTHING_TO_RENEW: Renewal = { ok: false, holder: null }

/** Renewals of one turn of the event loop share a transaction: a server renews thousands at a time. */
export class Renewals {
  readonly #gate: Gate
  readonly #ledger: Ledger
  readonly #waiting: Renewing[] = []

  constructor(gate: Gate, ledger: Ledger) {
    this.#gate = gate
    this.#ledger = ledger
  }

  renew(resource: string, id: string, ttl: number, signal?: AbortSignal): Promise<Renewal> {
    const { promise, resolve, reject } = Promise.withResolvers<Renewal>()
    const step: Step<Renewal> = (row, now, effects) => renew(row, id, ttl, now, effects)
    if (this.#waiting.push({ resource, step, signal, resolve, reject }) === 1)
      setImmediate(() => this.#flush())
    return orAborted(promise, signal)
  }

  close(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(closedError())
  }

  #flush(): void {
    const batch = this.#waiting.splice(0, BATCH).filter(({ signal }) => !signal?.aborted)
    if (this.#waiting.length > 0) setImmediate(() => this.#flush())
    if (batch.length === 0) return
    this.#gate
      .run(() => this.#renewAll(batch))
      .then(
        (answers) => {
          for (const [n, { resolve, reject }] of batch.entries()) {
            const answer = answers[n]
            if (answer instanceof LeaseError) reject(answer)
            else resolve(answer ?? NOTHING_TO_RENEW)
          }
        },
        (error) => {
          for (const { reject } of batch) reject(error)
        },
      )
  }

  #renewAll(batch: readonly Renewing[]): (Renewal | LeaseError | undefined)[] {
    return this.#ledger.transact((transaction) =>
      batch.map(({ resource, step }) => {
        try {
          return transaction.change(resource, step)
        } catch (error) {
          // A damaged row spoils its own renewal only.
          if (error instanceof LeaseError) return error
          throw error
        }
      }),
    )
  }
}
