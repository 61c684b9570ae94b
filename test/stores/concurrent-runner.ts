import { describe, it } from 'vitest'

/** For the suite on real servers: most of its cases wait for a TTL, so several run at the same time. */
export const concurrentRunner = { describe: describe.concurrent, it }
