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
  /** A record of the log is malformed, or of another format. It stays where it is, and is not carried out. */
  | 'malformed-record'
  /** The stored data has another format, for example of a newer version. This context does not write any more. */
  | 'other-format'
  /** A write is safe in the log and shown everywhere, but could not yet be moved to the index. */
  | 'write-postponed'
  /**
   * A write that waited in the log does not fit into the storage. The write of a content script is taken back. Any other
   * stays in the log, and is tried again with the next write.
   */
  | 'write-refused'
  /** The extension was reloaded under this context. It has stopped; only a reload of the page helps. */
  | 'invalidated'
  /** The storage could not be read. The read is repeated; further failures in a row are not reported. */
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
  return (code, message, cause) => notify(onWarning, { code, message, cause })
}
