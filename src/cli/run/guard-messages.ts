import type { Moment } from './moment.ts'

/** What `run` tells its guard, one JSON line each. */
export type GuardMessage =
  | { readonly type: 'guard'; readonly group: number; readonly graceMs: number }
  | { readonly type: 'extend'; readonly killAt: Moment }
  /** `run` has sent SIGTERM itself. */
  | { readonly type: 'asked' }
  /** The command has ended; there is nothing to guard any more. */
  | { readonly type: 'done' }
