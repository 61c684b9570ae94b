import type { Moment } from './moment.ts'

/** What `run` tells its guard, one JSON line each. */
export type GuardMessage =
  | {
      readonly type: 'guard'
      readonly leader: number
      readonly graceMs: number
      /** `run` is itself the command of another: when that one kills it, there is no time left. */
      readonly isNested: boolean
    }
  | { readonly type: 'extend'; readonly killAt: Moment }
  /** `run` has sent SIGTERM, since the lease cannot be renewed. */
  | { readonly type: 'asked' }
  /** The command has ended; there is nothing to guard any more. */
  | { readonly type: 'done' }
