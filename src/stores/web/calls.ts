import { type CallOptions, LeaseError } from '../../core/index.ts'
import { nameOf } from '../browser/index.ts'

/** The browser refuses this page, this context or this directory; asking again cannot help. */
const FINAL = ['SecurityError', 'NotSupportedError', 'NotAllowedError', 'TypeError']

export function explain(cause: unknown): LeaseError {
  if (cause instanceof LeaseError) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  return new LeaseError(FINAL.includes(nameOf(cause) ?? '') ? 'store-failed' : 'store-unavailable', message, {
    cause,
  })
}

export interface Calls {
  /** Runs one call of the port: refuses it after the close, and turns what the browser throws into a `LeaseError`. */
  run<T>(work: () => Promise<T>, call?: CallOptions): Promise<T>
  close(): void
}

export function createCalls(kind: string): Calls {
  let closed = false
  return {
    async run(work, call) {
      if (closed) throw new LeaseError('closed', `this ${kind} store was closed`)
      if (call?.signal?.aborted)
        throw new LeaseError('aborted', 'the caller gave up', { cause: call.signal.reason })
      try {
        return await work()
      } catch (error) {
        throw explain(error)
      }
    },
    close() {
      closed = true
    },
  }
}
