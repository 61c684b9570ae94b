export { type Clock, type Moment, moment, systemClock } from './clock.ts'
export { LeaseError, type LeaseErrorCode, type LeaseErrorDetails } from './errors.ts'
export { type KeepOptions, type KeepStore, type KeptLease, keepLease } from './keep.ts'
export type {
  JsonObject,
  JsonValue,
  Lease,
  LeaseEvent,
  LeaseListener,
  LeaseRecord,
  LossReason,
} from './lease.ts'
export { createLeases, type Leases } from './manager.ts'
export { checkResource, type LeaseOptions, type LeasesOptions, type Retry } from './options.ts'
export { randomId } from './random-id.ts'
export type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  LeasePage,
  LeaseStore,
  ListQuery,
  Refusal,
  Renewal,
  StoreEvent,
  StoreSupport,
} from './store.ts'
export { Bell } from './waiting.ts'
