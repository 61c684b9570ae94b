import {
  type Checks,
  checkEach,
  expectFunction,
  expectMethods,
  expectObject,
  expectOneOf,
  expectWhole,
  hasMethods,
  refuse,
} from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import type { ChromeApi, ChromeAreaName } from './chrome.ts'
import { jsonCopy } from './json.ts'
import { LAYOUT_NAMES, type LayoutName } from './layout.ts'
import type { RequestsLocks, SyncLocks } from './locks.ts'
import type { Messenger } from './messenger.ts'
import type { Migrations } from './migrate.ts'
import { DEFAULT_SETTINGS, type SyncSettings } from './settings.ts'
import type { StorageAdapter } from './storage.ts'
import type { SyncSchemas } from './validate.ts'
import type { SyncWarning } from './warnings.ts'

const DEFAULTS = { namespace: '', shards: 1, ackTimeout: 200, resend: 1, batch: 1000 }
const MIN_ACK_TIMEOUT_MS = 150
const MAX_ACK_TIMEOUT_MS = 300
/** The most keys that an index can be split into. */
export const MAX_SHARDS = 1024

/** How long `webLocks` waits for the lock. */
export const LOCK_WAIT_MS = 10_000
/** What a write needs could not be loaded: how long to wait until the next attempt. */
export const LOAD_AGAIN_MS = 1000
/** How long a context without locks waits for the coordinator to carry out its write. The log keeps it anyway. */
export const COORDINATOR_MS = 3000
/** Chrome stores `null` in place of what is deeper than about 90. */
export const MAX_JSON_LEVELS = 64
/**
 * Up to this number of entities, a write is acknowledged when the index contains it. A larger index is changed when
 * no more writes come, and a write is acknowledged when it is in the log.
 */
export const SMALL_INDEX = 1000

/** The ports of a context, and the options that must be the same in every context of an application. */
export interface SyncBaseOptions<S extends object = object> {
  readonly storage: StorageAdapter
  /** Without a messenger, other contexts learn of writes only from the storage. */
  readonly messenger?: Messenger | undefined
  /** Without locks, two contexts at the same time may undo each other's change of the index. */
  readonly locks?: SyncLocks | undefined
  /** Part of all keys, of the lock and of the messages, so that several collections can share one storage. */
  readonly namespace?: string | undefined
  /** `one-key` has all entities in one key, for small sets. Default `key-per-entity`. */
  readonly layout?: LayoutName | undefined
  /** The number of keys that the index of `key-per-entity` is split into, for very large sets. Default 1. */
  readonly shards?: number | undefined
  /** The version of settings and entities, and the migrations from older versions. Default `{ version: 1 }`. */
  readonly schema?: { readonly version: number; readonly migrations: Migrations } | undefined
  /** The settings while none are stored, for settings of your own. Default: all sites, `#6441a5`, with their rules. */
  readonly defaults?: S | undefined
  /** How long to wait for an acknowledgement, 150 to 300 ms. Default 200 ms. */
  readonly ackTimeout?: Duration | undefined
  /** How often a message is sent again if no acknowledgement comes. Default 1. */
  readonly resend?: number | undefined
  /** Default: `console.warn`. */
  readonly onWarning?: ((warning: SyncWarning) => void) | undefined
  readonly clock?: Clock | undefined
}

export interface SyncOptions<E extends object = never, S extends object = SyncSettings>
  extends SyncBaseOptions<S> {
  /** `coordinator`: for a content script, whose locks belong to the host page. Default `here`. */
  readonly writes?: 'here' | 'coordinator' | undefined
  /** The number of entities in one read. Default 1 000. */
  readonly batch?: number | undefined
  /** Standard Schemas that check what is written and read, and give entities and settings their types. */
  readonly validate?: SyncSchemas<E, S> | undefined
}

/** Settings of another type than the built-in one need defaults. */
export type DefaultsOf<S extends object> = SyncSettings extends S ? unknown : { readonly defaults: S }

const CHECKS: Checks<SyncOptions<object, object>> = {
  storage: (option, value) =>
    expectMethods(option, value, 'a StorageAdapter', 'get', 'set', 'remove', 'keys', 'subscribe'),
  messenger: (option, value) => expectMethods(option, value, 'a Messenger', 'send', 'subscribe'),
  locks: (option, value) => expectMethods(option, value, 'locks such as webLocks()', 'withLease'),
  clock: (option, value) => expectMethods(option, value, 'a Clock', 'setTimer'),
  onWarning: expectFunction,
  namespace: (option, value) => {
    if (typeof value !== 'string' || !/^[\w.-]*$/.test(value))
      refuse(option, 'letters, digits, ".", "_" and "-"', value)
  },
  layout: (option, value) => expectOneOf(option, value, LAYOUT_NAMES),
  shards: (option, value) => expectWhole(option, value, 1, MAX_SHARDS),
  ackTimeout: (option, value) => expectDuration(option, value, MIN_ACK_TIMEOUT_MS, MAX_ACK_TIMEOUT_MS),
  resend: (option, value) => expectWhole(option, value, 0, 10),
  batch: (option, value) => expectWhole(option, value, 1, 1_000_000),
  writes: (option, value) => expectOneOf(option, value, ['here', 'coordinator']),
  schema: checkSchema,
  defaults: (option, value) => jsonCopy(option, value as object),
  validate(option, value) {
    expectObject(option, value)
    checkEach(value, { entity: checkStandardSchema, settings: checkStandardSchema }, `${option}.`)
  },
}

/** Every default filled in and every value checked. */
export function checkOptions<E extends object, S extends object>(options: SyncOptions<E, S>) {
  // A coordinator takes the result of `chromeContext`, so it accepts the options of a sync.
  const checked = checkEach(options, CHECKS as Checks<SyncOptions<E, S>>) as SyncOptions<E, S>
  CHECKS.storage('storage', options.storage)
  const { storage, messenger, locks, layout: name, writes, validate: schemas = {} } = checked
  const { namespace = DEFAULTS.namespace, shards = DEFAULTS.shards, batch = DEFAULTS.batch } = checked
  const { ackTimeout = DEFAULTS.ackTimeout, resend = DEFAULTS.resend } = checked
  const { clock = systemClock, onWarning = console.warn, schema = { version: 1, migrations: {} } } = checked
  const option = name === 'one-key' ? 'A' : 'B'
  if (option === 'A') expectWhole('shards', shards, 1, 1)
  if (writes === 'coordinator' && !messenger)
    refuse('messenger', 'a Messenger to reach the coordinator', messenger)
  return {
    storage,
    messenger,
    locks,
    namespace,
    /** The layout as it is stored. */
    option,
    shards,
    schema,
    defaults: (checked.defaults ?? (schemas.settings ? {} : DEFAULT_SETTINGS)) as S,
    schemas,
    batch,
    ackTimeoutMs: ackTimeout as number,
    resend,
    clock,
    onWarning,
    /** The coordinator carries out the records of this context: it has no locks of the extension. */
    leavesRecords: writes === 'coordinator',
  } as const
}

function checkStandardSchema(option: string, schema: unknown): void {
  if (!hasMethods(Object(schema)['~standard'], 'validate'))
    refuse(option, 'a Standard Schema, with `~standard`', schema)
}

function checkSchema(option: string, schema: unknown): void {
  expectObject(option, schema)
  const { version, migrations } = schema as Partial<NonNullable<SyncBaseOptions['schema']>>
  expectWhole('schema.version', version, 1)
  for (let next = 2; next <= Number(version); next++)
    expectFunction(`schema.migrations[${next}]`, migrations?.[next])
}

export interface ChromeMessengerOptions {
  /** The tabs whose content scripts get messages: a query for `tabs.query`, or `false` for none. Default: all tabs. */
  readonly tabs?: object | false | undefined
  /** Default: `browser` or `chrome`. */
  readonly api?: ChromeApi | undefined
}

export interface ChromeContextOptions extends ChromeMessengerOptions {
  /** Default `local`. */
  readonly area?: ChromeAreaName | undefined
  /** Default: `location.href`. */
  readonly href?: string | undefined
}

export interface WebLocksOptions {
  /** Default: `navigator.locks`. */
  readonly locks?: RequestsLocks | undefined
  /** How long to wait for the lock. Default 10 s. */
  readonly wait?: Duration | undefined
  readonly clock?: Clock | undefined
}

export interface ImportOptions {
  /** Removes the entities that are there before. By default they stay, unless the import has the same id. */
  readonly replace?: boolean | undefined
}
