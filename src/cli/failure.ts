import type { LeaseError } from '../core/index.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'

/** An end that the user is told in one sentence: what is wrong, and what to do about it. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, details: { readonly cause?: unknown } = {}) {
    super(message, details)
    this.exitCode = exitCode
  }
}

export function usageFailure(message: string, details?: { readonly cause?: unknown }): Failure {
  return new Failure(EXIT.usage, message, details)
}

/** `store`: how messages name the store that was in use. */
export function asFailure(error: unknown, store?: string): Failure {
  if (error instanceof Failure) return error
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const of = store ? `${store}: ` : ''
  const { code: systemCode, path } = Object(error) as NodeJS.ErrnoException
  if (systemCode !== undefined && path !== undefined) return usageFailure(message, { cause: error })
  if (name !== 'LeaseError')
    return new Failure(
      EXIT.failed,
      `${of}${message}; --debug shows where, and that would be good to have in a report`,
      {
        cause: error,
      },
    )
  const { code } = error as LeaseError
  switch (code) {
    case 'invalid-argument':
      return usageFailure(message, { cause: error })
    case 'lease-held':
      return new Failure(EXIT.held, `${message}; holdfast inspect tells more, and --wait waits longer`, {
        cause: error,
      })
    case 'lease-lost':
      return new Failure(EXIT.lost, message, { cause: error })
    case 'store-unavailable':
      return new Failure(EXIT.unavailable, `${of}${message}; is it running, and is the address right?`, {
        cause: error,
      })
    default:
      return new Failure(EXIT.failed, `${of}${message}`, { cause: error })
  }
}
