/** The numbers that the calls and connections of every store are tuned with. */

/** One timer serves all calls: a timer and a listener for each would cost as much as a fast call itself. */
export const CHECK_CALLS_EVERY_MS = 50
/** A timer that is later than this shows that the process was blocked or stopped. That time does not count. */
export const BLOCKED_MS = 500
/** How long `close` waits for requests that are under way, unless the store needs longer. */
export const CLOSE_CALLS_LIMIT_MS = 1000
/** An answer reaches its caller, and the caller releases what it got, within this many microtasks. */
export const MICROTASKS_TO_RELEASE = 50
/** How much the latest call counts in the mean duration of a call. */
export const LATEST_CALL_FRACTION = 0.1
/** How long a connection stays open after its last use, so that a loop of short leases does not reopen it. */
export const PUSH_IDLE_MS = 2000
/** The pauses before a broken connection is opened again. */
export const REOPEN_MS = [50, 200, 1000, 2000, 5000]
/** After an error that a retry does not help, such as a pooler that delivers no notifications. */
export const REOPEN_AFTER_FINAL_ERROR_MS = 30_000
/** A lease that is held for less is not worth a connection. */
export const OPEN_FOR_HOLDER_MS = 200
/** Longer than a call, because it may take several requests. */
export const OPEN_LIMIT_MS = 10_000
/** A server that has stopped does not answer a goodbye. */
export const CLOSE_PUSH_LIMIT_MS = 1000
/** A busy resource is asked for often, and each check reads a file. */
export const CHECK_PROCESS_EVERY_MS = 50
/** How many processes have their last check remembered. */
export const MAX_KNOWN_PROCESSES = 1000
/** How soon a waiter asks again whether the process of a holder on this machine is gone. */
export const ASK_AGAIN_FOR_PROCESS_MS = 500
/** More renewals wait in this process. */
export const MAX_RENEWALS_UNDER_WAY = 128
/** A request that is not answered must not stop the others. After this time, those behind it are sent anyway. */
export const REQUEST_LIMIT_MS = 4000
/** The same for a release, for which others may wait. */
export const RELEASE_LIMIT_MS = 1000
/** How often queued requests are looked at while none of those in flight is answered. */
export const CHECK_QUEUED_EVERY_MS = 1000
/** A request that has not ended after this time never will: its client has lost it. */
export const LOST_AFTER_MS = 30_000
