import type { LeaseErrorCode } from '../core/index.ts'
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
export function asFailure(error: unknown, store = ''): Failure {
  if (error instanceof Failure) return error
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const details = { cause: error }
  const of = store && `${store}: `
  const { code, path } = Object(error) as { code?: string; path?: string }
  if (name === 'LeaseError') return leaseFailure(code as LeaseErrorCode, message, store, details)
  // What the system says of a file is about what the user named.
  if (code !== undefined && path !== undefined) return usageFailure(message, details)
  const report = '--debug shows where, and that would be good to have in a report'
  return new Failure(EXIT.failed, `${of}${message}; ${report}`, details)
}

function leaseFailure(code: LeaseErrorCode, message: string, store: string, details: object): Failure {
  const of = store && `${store}: `
  switch (code) {
    case 'invalid-argument':
      return usageFailure(message, details)
    case 'lease-held':
      return new Failure(
        EXIT.held,
        `${message}; holdfast inspect tells more, and --wait waits longer`,
        details,
      )
    case 'lease-lost':
      return new Failure(EXIT.lost, message, details)
    case 'store-unavailable': {
      const isLocal = /^(sqlite|file):/.test(store)
      const remedy = isLocal
        ? 'try again, or ask holdfast doctor'
        : 'is it running, and is the address right?'
      return new Failure(EXIT.unavailable, `${of}${message}; ${remedy}`, details)
    }
    default:
      return new Failure(EXIT.failed, `${of}${message}`, details)
  }
}
