import * as localQueue from './local-queue.ts'

/** Not a promise here, so that the first request leaves in the tick in which it was made. */
export function loadLocalQueue(): typeof localQueue | Promise<typeof localQueue> {
  return localQueue
}
