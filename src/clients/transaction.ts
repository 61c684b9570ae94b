import { LeaseError } from '../base/errors.ts'

/** One connection of a pool. Errors are those of its driver. */
export interface TransactionSteps {
  /** For messages. */
  readonly backend: string
  begin(): Promise<unknown>
  commit(): Promise<unknown>
  rollBack(): Promise<unknown>
  /** Gives the connection back to its pool, which closes a broken one. */
  end(isBroken: boolean): void
  /** Whether the error is an answer of the server that it has stored nothing. */
  isRefusal(error: unknown): boolean
}

/**
 * Runs the work in a transaction: commits, or rolls back if the work rejects. If the answer to COMMIT is lost, it
 * rejects with `outcome-unknown`. Other errors are those of the driver and of the work.
 */
export async function runTransaction<T>(steps: TransactionSteps, work: () => Promise<T>): Promise<T> {
  let isBroken = true
  try {
    await steps.begin()
    try {
      const result = await work()
      await commit(steps)
      isBroken = false
      return result
    } catch (error) {
      // If it cannot be rolled back, closing the connection ends the transaction. The first error matters.
      isBroken = await steps.rollBack().then(
        () => false,
        () => true,
      )
      throw error
    }
  } finally {
    steps.end(isBroken)
  }
}

async function commit(steps: TransactionSteps): Promise<void> {
  try {
    await steps.commit()
  } catch (error) {
    throw error instanceof LeaseError || steps.isRefusal(error) ? error : unknownOutcome(steps.backend, error)
  }
}

export function unknownOutcome(backend: string, cause: unknown): LeaseError {
  return new LeaseError(
    'outcome-unknown',
    `${backend}: the answer to COMMIT was lost, so the transaction may be stored or not: read before you write again`,
    { cause },
  )
}
