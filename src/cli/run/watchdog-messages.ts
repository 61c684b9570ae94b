import type { Moment } from '../../base/clock.ts'

/** A message of `run` to its watchdog: one line of JSON. */
export type WatchdogMessage =
  /** Sent before the command is started, because `run` may be killed before it can say which process it is. */
  | {
      readonly type: 'starting'
      /** In the environment of the command. */
      readonly leaseId: string
      readonly graceMs: number
      /** `run` is itself the command of another `run`. When the outer one kills it, no time for a grace is left. */
      readonly isNested: boolean
    }
  /** The process id of the command, which leads its session. */
  | { readonly type: 'started'; readonly leader: number }
  | { readonly type: 'extend'; readonly killAt: Moment }
  /** `run` has sent SIGTERM to the command, because the lease cannot be renewed. */
  | { readonly type: 'terminating' }
  /** The command has ended. The watchdog exits. */
  | { readonly type: 'done' }

/** The exit code of a watchdog that has ended the command. */
export const WATCHDOG_ENDED_COMMAND = 1
