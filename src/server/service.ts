import type { Clock } from '../base/clock.ts'
import type { Settings } from '../configuration/settings.ts'
import type { LeaseStore } from '../core/index.ts'
import type { TelemetryEvent } from '../protocol/index.ts'
import type { Announcer } from './announcer.ts'
import type { AuditLog } from './audit.ts'
import type { Channels } from './channels/index.ts'
import type { ClientPlaces } from './client-places.ts'
import type { DocumentStore } from './documents.ts'
import type { Handoff } from './handoff.ts'
import type { HolderNames } from './holder-names.ts'
import type { Authorize, Identity } from './identity.ts'
import type { LeaseFeed } from './lease-feed.ts'
import type { Locks } from './locks.ts'
import type { Log } from './log.ts'
import type { DependencyFailure } from './readiness.ts'
import type { RoomQueues } from './room-queues.ts'
import type { Terms } from './room-terms.ts'
import type { Meter, StatsWindow } from './stats.ts'
import type { WaiterLimits } from './waiter-limits.ts'
import type { Withdrawals } from './withdrawals.ts'

/** The parts of a running service, for its routes. */
export interface Service {
  readonly store: LeaseStore
  readonly documents: DocumentStore
  readonly audit: AuditLog
  readonly channels: Channels
  readonly settings: Settings
  readonly authorize: Authorize
  readonly clock: Clock
  readonly log: Log
  readonly onError: OnError
  readonly meter: Meter | undefined
  readonly onTelemetry: OnTelemetry | undefined
  readonly feed: LeaseFeed
  readonly announcer: Announcer
  readonly names: HolderNames
  readonly roomQueues: RoomQueues
  readonly termsOf: (room: string) => Terms
  readonly waiterLimits: WaiterLimits
  readonly locks: Locks
  readonly clientPlaces: ClientPlaces
  readonly handoff: Handoff
  readonly withdrawals: Withdrawals
  readonly stats: StatsWindow
  /** What the service depends on and cannot use now. */
  readonly failures: () => Promise<readonly DependencyFailure[]>
  /** Aborts when no more requests should come to this node. Those that come are answered. */
  readonly draining: AbortSignal
  /** Aborts when the service stops. */
  readonly stop: AbortSignal
}

/**
 * Receives the batches that clients post. Returns how many events it kept; without a number, all of them. If it
 * rejects, the client gets an error.
 */
export type OnTelemetry = (
  events: readonly TelemetryEvent[],
  from: Identity,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing keeps all of them.
) => number | void | Promise<number | void>

/** Called when something failed in the background, where no answer can report it. */
export type OnError = (operation: string, error: unknown) => void
