export { type Clock, systemClock } from '../base/clock.ts'
export type { Duration } from '../base/duration.ts'
export { LeaseError, type LeaseErrorCode, type LeaseErrorDetails } from '../base/errors.ts'
export type { JsonObject, JsonValue, LeaseRecord } from '../base/records.ts'
export type { LeaseGroup } from './acquire-all.ts'
export { createLeases } from './create-leases.ts'
export type { Lease, LeaseEvent, LeaseListener, LossReason } from './lease.ts'
export type {
  AdoptOptions,
  GroupWork,
  LeadOptions,
  Leases,
  LeasesQuery,
  TriedWork,
  Work,
} from './leases.ts'
export type { LeaseOptions, LeasesOptions, Retry } from './options.ts'
export type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  HoldingStore,
  LeasePage,
  LeaseStore,
  ListQuery,
  LookingStore,
  ManagedStore,
  Refusal,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  StoreEvent,
  StoreLoad,
  StoreSupport,
  WaitingQuery,
  WaitingQueue,
  WaitingRecord,
} from './store.ts'
export type { LeaseTicket } from './ticket.ts'
export type { LeaseWatch, WatchEvent } from './watch.ts'
