import { LeaseError, messageOf } from '../base/errors.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { formatDuration } from './format-duration.ts'
import { diagnose } from './stores/remedies.ts'

/** Ends a command. The message is one sentence for the user: what is wrong, and after a semicolon what to do. */
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
  const message = messageOf(error)
  const withStore = store ? `${store}: ${message}` : message
  const details = { cause: error }
  if (error instanceof LeaseError) return leaseFailure(error, withStore, store)
  const { code, path } = Object(error) as { readonly code?: string; readonly path?: string }
  // An error of the file system is about a path that the user gave.
  if (code !== undefined && path !== undefined) return usageFailure(message, details)
  const remedy = 'this may be a bug: run it again with --debug, and report what that prints'
  return new Failure(EXIT.failed, `${withStore}; ${remedy}`, details)
}

function leaseFailure(error: LeaseError, messageWithStore: string, store: string): Failure {
  const { code, message } = error
  const details = { cause: error }
  const diagnosis = diagnose(error, store)
  const known = diagnosis?.cause ? `${store}: ${diagnosis.cause}` : tidied(messageWithStore)
  switch (code) {
    case 'invalid-argument':
      return usageFailure(message, details)
    case 'lease-held': {
      const { resource, holder, keptFor } = error
      const text =
        keptFor && !holder
          ? `${resource} is not available for another ${formatDuration(keptFor)}, because its last lease keeps it ` +
            '(--at-least or --lock-delay); wait at least that long with --wait'
          : `${message}; holdfast inspect shows the lease, and --wait waits longer for it`
      return new Failure(EXIT.held, text, details)
    }
    case 'lease-lost':
      return new Failure(EXIT.lost, message, details)
    case 'store-unavailable': {
      const usual = /^(sqlite|file):/.test(store)
        ? 'try again, or run holdfast doctor'
        : 'check that it is running and that the address is correct'
      return new Failure(EXIT.unavailable, `${known}; ${diagnosis?.remedy ?? usual}`, details)
    }
    default: {
      // The advice in the error itself is more specific.
      const remedy = message.includes('; ') ? undefined : diagnosis?.remedy
      return new Failure(EXIT.failed, remedy ? `${known}; ${remedy}` : messageWithStore, details)
    }
  }
}

/** Without what says nothing to a user: the frame that gRPC puts around an error, and that a client is new. */
function tidied(message: string): string {
  return message
    .replace(/\d+ [A-Z_]+: (?:No connection established\. Last error: )?(?:Error: )?/, '')
    .replace(/\. Resolution note:\s*$/, '')
    .replace(/; the client has never connected$/, '')
}
