import { SECRETS } from './service-bed.ts'

/** Of all nodes of a service: short times, and the same secrets. */
export const NODE_SETTINGS = {
  ...SECRETS,
  ttl: 5000,
  heartbeat: 1000,
  sweep: 1000,
  grace: 1000,
  answerWithin: 10_000,
} as const
