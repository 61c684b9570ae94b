import type { Moment } from './moment.ts'

/** What `run` tells its guard, one JSON line each. */
export type GuardMessage =
  | { readonly type: 'guard'; readonly leader: number; readonly graceMs: number }
  | { readonly type: 'extend'; readonly killAt: Moment }
  /** `run` has sent SIGTERM, since the lease cannot be renewed. */
  | { readonly type: 'asked' }
  /** `run` has passed on a SIGTERM that others sent. */
  | { readonly type: 'passed-on' }
  /** The command has ended; there is nothing to guard any more. */
  | { readonly type: 'done' }
