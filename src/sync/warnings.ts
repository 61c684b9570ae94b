export type SyncWarningCode =
  /** Nobody is there to hear of a write; it is in storage all the same. */
  | 'no-receiver'
  /** Somebody may be there and did not answer in time. */
  | 'no-ack'
  /** A message with one of our actions that is none, the `cause`. It was passed over. */
  | 'malformed-message'
  /** What is stored cannot be used; the last good state stays, and nothing was overwritten. */
  | 'malformed-settings'
  | 'malformed-index'
  | 'malformed-entity'
  /** Another version of the application has changed the format; this context does not write any more. */
  | 'other-format'
  /** The storage could not be read; it is tried again. */
  | 'read-failed'
  /** What another context asked to remove could not be removed. */
  | 'remove-failed'

export interface SyncWarning {
  readonly code: SyncWarningCode
  readonly message: string
  readonly cause?: unknown
}

export type Warn = (code: SyncWarningCode, message: string, cause?: unknown) => void

export function createWarn(onWarning: (warning: SyncWarning) => void): Warn {
  return (code, message, cause) => {
    try {
      onWarning({ code, message, ...(cause !== undefined && { cause }) })
    } catch {
      // A listener that throws harms nobody.
    }
  }
}
