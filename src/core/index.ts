export { type Clock, systemClock } from '../base/clock.ts'
export { type Duration, parseDuration } from '../base/duration.ts'
export { LeaseError, type LeaseErrorCode, type LeaseErrorDetails, type LeaseErrorOf } from '../base/errors.ts'
export type { JsonObject, JsonValue, LeaseRecord, PlainObject } from '../base/records.ts'
export type { LeaseGroup } from './acquire-all.ts'
export { createLeases } from './create-leases.ts'
export type { Lease, LeaseEvent, LeaseEventBase, LeaseListener, LossReason } from './lease.ts'
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
