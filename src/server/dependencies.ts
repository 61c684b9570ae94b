/** What the service depends on: the given stores and the defaults of those that are not, measured and traced. */

import { type Clock, systemClock } from '../base/clock.ts'
import { notify } from '../base/notify.ts'
import { Tracer } from '../base/tracing.ts'
import { type Settings, settingsOf } from '../configuration/settings.ts'
import type { LeaseStore } from '../core/index.ts'
import { type AuditLog, memoryAudit } from './audit.ts'
import type { Bus } from './bus.ts'
import { memoryBus } from './buses/memory.ts'
import { type DocumentStore, inMemory, memoryDocuments } from './documents.ts'
import { HttpError } from './http/http-error.ts'
import { jsonLog, type Log } from './log.ts'
import { measured } from './measured.ts'
import type { LockServerOptions } from './options.ts'
import { restoreSecrets, withSecrets } from './secrets.ts'
import type { Meter } from './stats.ts'

export interface Dependencies {
  readonly store: LeaseStore
  readonly documents: DocumentStore
  readonly audit: AuditLog
  readonly bus: Bus
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter | undefined
  readonly tracer: Tracer | undefined
  /** Stores the secrets again, if the store has lost them. */
  restore(): Promise<void>
}

const DOCUMENT_CALLS = ['fence', 'read', 'save', 'remove', 'sweep'] as const
export const STORE_CALLS = ['acquire', 'renew', 'release', 'read', 'list', 'sweep'] as const

export async function dependenciesOf(options: LockServerOptions): Promise<Dependencies> {
  const { clock = systemClock, meter, secrets } = options
  const measuring = { meter, clock }
  const tracer = options.tracing && new Tracer(options.tracing)
  const attributes = { 'holdfast.backend': options.store.kind }
  const traced = <T extends object>(part: string, target: T, methods: readonly (keyof T & string)[]) =>
    tracer ? tracer.around(target, methods, attributes, { part, onlyInside: true }) : target
  const store = measured('store', traced('store', options.store, STORE_CALLS), STORE_CALLS, measuring)
  const bus = measured('bus', options.bus ?? memoryBus(), ['publish'], measuring)
  const given = settingsOf(options.settings)
  const log = options.log ?? jsonLog((line) => console.log(line), given.logLevel, clock)
  const settings = await withSecrets(given, log, secrets)
  const documents = measured(
    'documents',
    traced('documents', options.documents ?? defaultDocuments(store, clock), DOCUMENT_CALLS),
    DOCUMENT_CALLS,
    measuring,
  )
  const audit = measured(
    'audit',
    options.audit ?? memoryAudit(settings.auditEntries),
    ['append', 'read'],
    measuring,
  )
  warnAboutNodes(options, log)
  const restore = async () => {
    if (secrets) await restoreSecrets(given, settings, secrets)
  }
  return { store, documents, audit, bus, settings, clock, log, meter, tracer, restore }
}

/** Contents in the memory of one node would be lost, or overwritten, while other nodes share its locks. */
function defaultDocuments({ kind }: LeaseStore, clock: Clock): DocumentStore {
  const documents = memoryDocuments({ clock })
  if (kind === 'memory') return documents
  const refuseContents = async () => {
    throw new HttpError(
      404,
      'contents_off',
      'this server keeps no contents, because it was given no documents',
    )
  }
  return { ...documents, read: refuseContents, save: refuseContents, remove: refuseContents }
}

/** Stores that only processes of one machine share. */
const OF_ONE_MACHINE = ['memory', 'sqlite', 'file']
const WITH_PARTS = ['etcd', 'mysql', 'nats', 'postgres', 'redis']

/** Says what the nodes of a service with a shared store would not share. */
function warnAboutNodes({ store, bus, documents }: LockServerOptions, log: Log): void {
  if (OF_ONE_MACHINE.includes(store.kind)) return
  const remedy = WITH_PARTS.includes(store.kind) ? `; ${store.kind}Parts(client) has all of them` : ''
  if (!bus)
    notify(log, 'warn', `without a bus, several nodes do not hear of each other's changes: pass one${remedy}`)
  if (documents && inMemory.has(documents))
    notify(
      log,
      'warn',
      `contents are in the memory of each node, and the leases are shared: pass other documents${remedy}`,
    )
}
