import { SECRETS } from './service-bed.ts'

/** The settings of all nodes: the same secrets, and short times only where a test waits for their end. */
export const NODE_SETTINGS = {
  ...SECRETS,
  ttl: 10_000,
  heartbeat: 1000,
  sweep: 1000,
  grace: 1000,
  answerWithin: 60_000,
} as const
