import {
  expectFunction,
  expectMethods,
  expectObject,
  expectOneOf,
  expectOptions,
  expectWhole,
  refuse,
} from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import { jsonCopy } from './json.ts'
import { createLayout, MAX_SHARDS } from './layout.ts'
import type { SyncLocks } from './locks.ts'
import { createAnnounce } from './messages.ts'
import type { Messenger } from './messenger.ts'
import type { Migrations } from './migrate.ts'
import { DEFAULT_SETTINGS, expectSettings, type SyncSettings } from './settings.ts'
import type { StorageAdapter } from './storage.ts'
import type { SyncSchemas } from './validate.ts'
import { createWarn, type SyncWarning } from './warnings.ts'
import { storageWriter } from './writer.ts'

const MIN_ACK_TIMEOUT_MS = 150
const MAX_ACK_TIMEOUT_MS = 300

/** The ports of a context, and the options that must be the same in every context of an application. */
export interface SyncBaseOptions<S extends object = object> {
  readonly storage: StorageAdapter
  /** Without a messenger, other contexts learn of writes only from the storage. */
  readonly messenger?: Messenger
  /** Without locks, two writers at the same time may undo each other's change of the index. */
  readonly locks?: SyncLocks
  /** Part of all keys, of the lock and of the messages, so that several collections can share one storage. */
  readonly namespace?: string
  /** `B`: a key for each entity. `A`: all entities in one key, for small sets. Default `B`. */
  readonly option?: 'A' | 'B'
  /** The number of keys that the index of option B is split into, for very large sets. Default 1. */
  readonly shards?: number
  /** The version of settings and entities, and the migrations from older versions. Default: version 1. */
  readonly schema?: { readonly version: number; readonly migrations: Migrations }
  /** The settings while none are stored. */
  readonly defaults?: S
  /** How long to wait for an acknowledgement, 150 to 300 ms. Default 200 ms. */
  readonly ackTimeout?: Duration
  /** How often a message is sent again if no acknowledgement comes. Default 1. */
  readonly resend?: number
  /** Default: `console.warn`. */
  readonly onWarning?: (warning: SyncWarning) => void
  readonly clock?: Clock
}

export interface SyncOptions<E extends object = never, S extends object = SyncSettings>
  extends SyncBaseOptions<S> {
  /** `coordinator`: for a content script, whose locks belong to the host page. Default `here`. */
  readonly writes?: 'here' | 'coordinator'
  /** The number of entities in one read. Default 1 000. */
  readonly batch?: number
  /** Standard Schemas that check what is written and read, and give entities and settings their types. */
  readonly validate?: SyncSchemas<E, S>
}

/** Checks the options, and creates the parts that a sync and a coordinator have in common. */
export function assemble<E extends object, S extends object>(options: SyncOptions<E, S>) {
  // A coordinator takes the result of `chromeContext`, so it accepts the options of a sync.
  expectOptions(options, {
    storage: 1,
    messenger: 1,
    locks: 1,
    option: 1,
    shards: 1,
    schema: 1,
    defaults: 1,
    ackTimeout: 1,
    resend: 1,
    onWarning: 1,
    clock: 1,
    namespace: 1,
    writes: 1,
    batch: 1,
    validate: 1,
  })
  const { storage, messenger, locks, option = 'B', shards = 1, ackTimeout = 200, resend = 1 } = options
  const { clock = systemClock, onWarning = console.warn, schema = { version: 1, migrations: {} } } = options
  const { namespace = '', writes = 'here', batch = 1000 } = options
  expectMethods('storage', storage, 'a StorageAdapter', 'get', 'set', 'remove', 'keys', 'subscribe')
  if (messenger !== undefined) expectMethods('messenger', messenger, 'a Messenger', 'send', 'subscribe')
  if (locks !== undefined) expectMethods('locks', locks, 'locks such as webLocks()', 'withLease')
  expectMethods('clock', clock, 'a Clock', 'setTimer')
  expectFunction('onWarning', onWarning)
  if (typeof namespace !== 'string' || !/^[\w.-]*$/.test(namespace))
    refuse('namespace', 'letters, digits, ".", "_" and "-"', namespace)
  expectOneOf('option', option, ['A', 'B'])
  expectWhole('shards', shards, 1, option === 'A' ? 1 : MAX_SHARDS)
  const ackTimeoutMs = expectDuration('ackTimeout', ackTimeout, MIN_ACK_TIMEOUT_MS, MAX_ACK_TIMEOUT_MS)
  expectWhole('resend', resend, 0, 10)
  expectWhole('batch', batch, 1, 1_000_000)
  expectOneOf('writes', writes, ['here', 'coordinator'])
  if (writes === 'coordinator' && !messenger)
    refuse('messenger', 'a Messenger to reach the coordinator', messenger)
  const { version, migrations } = checkSchema(schema)
  const defaults = {
    ...DEFAULT_SETTINGS,
    ...jsonCopy('defaults', options.defaults ?? {}),
  } as unknown as S
  expectSettings(defaults, 'defaults.')

  const layout = createLayout({ namespace, option, shards, storage })
  const format = { option, shards, schemaVersion: version }
  const lockName = `holdfast:${layout.keys.all}`
  const warn = createWarn(onWarning)
  const closing = new AbortController()
  const ports = { messenger, namespace, clock, warn, closing: closing.signal }
  const announce = createAnnounce({ ...ports, ackTimeoutMs, resend })
  const common = { storage, layout, format, defaults, warn }
  const writer = storageWriter({ ...common, namespace, locks, migrations, lockName })
  return { ...common, messenger, namespace, batch, clock, closing, announce, writer }
}

function checkSchema(schema: NonNullable<SyncBaseOptions['schema']>) {
  expectObject('schema', schema)
  const { version, migrations } = schema
  expectWhole('schema.version', version, 1)
  for (let next = 2; next <= version; next++) expectFunction(`schema.migrations[${next}]`, migrations?.[next])
  return { version, migrations }
}
