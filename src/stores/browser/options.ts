/** The numbers that files and locks of a page are tuned with. */

/** Multiplied by the number of failed attempts, and by a random number from 0 to 1. */
export const GATE_PAUSE_MS = 10
/** Less than the five seconds that callers wait for an answer. */
export const GATE_LIMIT_MS = 4000
/** Without a gate: from a write to the reading that confirms it. */
export const RECHECK_MS = 100
/** Without a gate: from reading to writing. It must end before a competitor has confirmed its own write. */
export const DECISION_MS = RECHECK_MS / 2
/** Without a gate: from the decision to remove the file until its removal. */
export const REMOVAL_MS = 5000
/** How long a tab must be silent before its locks are taken, unless an option says otherwise. */
export const TAKEOVER_MS = 30_000
/** A shorter time would punish a page that computes for a moment. */
export const MIN_TAKEOVER_MS = 5000
/**
 * A waiter asks this many times before it takes the lock. Two rounds fit into one attempt at the project lock, which
 * takes 10 s.
 */
export const ROUNDS = 8
