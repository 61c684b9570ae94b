import { type Clock, systemClock } from '../core/index.ts'
import { createAnnounce } from './announce.ts'
import { expectFunction, expectMethods, expectWhole, invalid, jsonCopy } from './json.ts'
import { optionA, optionB } from './layout.ts'
import type { SyncLocks } from './locks.ts'
import type { Messenger } from './messenger.ts'
import type { Migrations } from './migrate.ts'
import { DEFAULT_SETTINGS, expectSettings } from './settings.ts'
import type { StorageAdapter } from './storage.ts'
import { storageWriter } from './storage-writer.ts'
import { createWarn, type SyncWarning } from './warnings.ts'

/** What every context of an application has to agree on, and the ports that it uses. */
export interface SyncBaseOptions<S extends object = object> {
  readonly storage: StorageAdapter
  /** Without: others learn of writes from the storage alone. */
  readonly messenger?: Messenger
  /** Without: two writers at once may undo each other's change of the index. */
  readonly locks?: SyncLocks
  /** `B`: a key for each entity. `A`: all in one key, for small sets. Default `B`. */
  readonly option?: 'A' | 'B'
  /** In how many keys the index of option B lies, for very large sets. Default 1. */
  readonly shards?: number
  /** The version of settings and entities, and how to come to it from the one before. Default 1. */
  readonly schema?: { readonly version: number; readonly migrations: Migrations }
  /** Settings as long as none are stored. */
  readonly defaults?: S
  /** Milliseconds to wait for an acknowledgement, 150 to 300. Default 200. */
  readonly ackTimeout?: number
  /** How often a message is sent again when none came. Default 1. */
  readonly resend?: number
  /** Default: `console.warn`. */
  readonly onWarning?: (warning: SyncWarning) => void
  readonly clock?: Clock
}

/** The parts that a sync and a coordinator are made of, all options checked. */
export function assemble<S extends object>(options: SyncBaseOptions<S>) {
  const { storage, messenger, locks, option = 'B', shards = 1, ackTimeout = 200, resend = 1 } = options
  const { clock = systemClock, onWarning = console.warn, schema = { version: 1, migrations: {} } } = options
  expectMethods('storage', storage, 'get', 'set', 'remove', 'keys', 'subscribe')
  if (messenger !== undefined) expectMethods('messenger', messenger, 'send', 'subscribe')
  if (locks !== undefined) expectMethods('locks', locks, 'withLease')
  expectMethods('clock', clock, 'setTimer')
  expectFunction('onWarning', onWarning)
  if (option !== 'A' && option !== 'B') throw invalid('option', 'A or B', option)
  expectWhole('shards', shards, 1, option === 'A' ? 1 : 1024)
  expectWhole('ackTimeout', ackTimeout, 150, 300)
  expectWhole('resend', resend, 0, 10)
  expectWhole('schema.version', schema.version, 1, Number.MAX_SAFE_INTEGER)
  for (let version = 2; version <= schema.version; version++)
    expectFunction(`schema.migrations[${version}]`, schema.migrations?.[version])
  const given = jsonCopy('defaults', options.defaults ?? {})
  const defaults = { ...DEFAULT_SETTINGS, ...given } as unknown as S
  expectSettings(defaults, 'defaults.')

  const layout = option === 'A' ? optionA : optionB(shards)
  const format = { schemaVersion: schema.version, shards }
  const warn = createWarn(onWarning)
  const closing = new AbortController()
  const announce = createAnnounce({ messenger, clock, ackTimeout, resend, warn, closing: closing.signal })
  const { migrations } = schema
  const writer = storageWriter({ storage, locks, layout, format, migrations, defaults, announce })
  return { storage, messenger, layout, format, defaults, clock, warn, closing, writer }
}
