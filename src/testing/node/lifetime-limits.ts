/** What the process does before it closes its store. */
export type LifetimeStep = 'acquire' | 'close'

/** How long after the end of its work a process is asked what keeps it alive. */
export const ALIVE_LIMIT_MS = 5000
export const ALIVE_EXIT_CODE = 14
