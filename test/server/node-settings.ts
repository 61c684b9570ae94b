import { SECRETS } from './service-bed.ts'

/** Of all nodes of a service: the same secrets, and times that are short only where a test waits for their end. */
export const NODE_SETTINGS = {
  ...SECRETS,
  ttl: 10_000,
  heartbeat: 1000,
  sweep: 1000,
  grace: 1000,
  answerWithin: 60_000,
} as const
