import { notify } from '../base/notify.ts'

export type SyncWarningCode =
  /** A write is in storage, but no other context received the message about it. */
  | 'no-receiver'
  /** A write is in storage, but no context acknowledged the message in time. */
  | 'no-ack'
  /** A malformed message with one of our action names, in `cause`. It was ignored. */
  | 'malformed-message'
  /** The stored value is unusable. The last valid state stays shown, and nothing was overwritten. */
  | 'malformed-settings'
  | 'malformed-index'
  | 'malformed-entity'
  /** Another version of the application changed the stored format. This context does not write any more. */
  | 'other-format'
  /** The storage could not be read. The read is repeated. */
  | 'read-failed'
  /** An entity or an orphaned key could not be removed. */
  | 'remove-failed'

export interface SyncWarning {
  readonly code: SyncWarningCode
  readonly message: string
  readonly cause?: unknown
}

export type Warn = (code: SyncWarningCode, message: string, cause?: unknown) => void

export function createWarn(onWarning: (warning: SyncWarning) => void): Warn {
  return (code, message, cause) => notify(onWarning, { code, message, ...(cause !== undefined && { cause }) })
}
