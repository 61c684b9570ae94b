/** What the process does before it closes its store. */
export type LifetimeStep = 'acquire' | 'close'

export const ALIVE_EXIT_CODE = 14
