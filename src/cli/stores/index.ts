import { existsSync } from 'node:fs'
import { orAborted } from '../../base/abort.ts'
import { answerWithin, settledWithin } from '../../base/answer-within.ts'
import { systemClock } from '../../base/clock.ts'
import { isRetryable } from '../../base/errors.ts'
import { backoffMs, pause, pauseUntilAborted } from '../../base/pause.ts'
import { redactAddress } from '../../base/redact.ts'
import { SETTINGS } from '../../configuration/settings.ts'
import { asFailure, usageFailure } from '../failure.ts'
import { CLOSE_STORE_LIMIT_MS, MIN_REACH_MS } from '../options.ts'
import type { CommandSettings } from '../settings.ts'
import { checkAddress } from './check-address.ts'
import type { OpenedStore, OpenOptions } from './opened-store.ts'

type Open = (address: string, options: OpenOptions) => Promise<OpenedStore>

const redis: Open = async (address) => (await import('./redis.ts')).openRedis(address)
const postgres: Open = async (address) => (await import('./postgres.ts')).openPostgres(new URL(address))
const etcd: Open = async (address) => (await import('./etcd.ts')).openEtcd(address)
const http: Open = async (address) => (await import('./http.ts')).openHttp(new URL(address))

export const OPEN_BY_SCHEME: Readonly<Record<string, Open>> = {
  sqlite: async (address, options) => (await import('./local.ts')).openSqlite(address, options),
  file: async (address, options) => (await import('./local.ts')).openFile(address, options),
  redis,
  rediss: redis,
  'redis+cluster': redis,
  'rediss+cluster': redis,
  'redis+sentinel': redis,
  'rediss+sentinel': redis,
  postgres,
  postgresql: postgres,
  mysql: async (address) => (await import('./mysql.ts')).openMysql(new URL(address)),
  nats: async (address) => (await import('./nats.ts')).openNats(new URL(address)),
  etcd,
  etcds: etcd,
  http,
  https: http,
}

/** `named`: the address that the command was given, if it was given one. */
export function storeAddress(settings: CommandSettings, named = settings.text('store')): string {
  const address = named ?? SETTINGS.store.default
  const listen = settings.text('listen')
  if (listen === undefined) return address
  if (!/^postgres(ql)?:/.test(address))
    throw usageFailure('--listen: only a store of Postgres has a connection for notifications')
  return `${address}${address.includes('?') ? '&' : '?'}listen=${encodeURIComponent(listen.toWellFormed())}`
}

/** Whether the default store is meant, and is not there. That of another directory is another store. */
export function isNewDefault(settings: CommandSettings, named = settings.text('store')): boolean {
  return named === undefined && !existsSync(SETTINGS.store.default.replace('sqlite:', ''))
}

/** Opens the store, runs the work, and closes the store. Failures name the store. */
export async function withStore<T>(
  address: string,
  work: (opened: OpenedStore) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const { onStep = () => {} } = options
  const shown = redactAddress(address)
  onStep(`connecting to ${shown}`)
  const opened = await openStore(address, options)
  onStep(`waiting for ${shown}`)
  try {
    return await work(opened)
  } catch (error) {
    throw asFailure(error, shown)
  } finally {
    onStep('')
    await closed(opened)
  }
}

/** Waits for the end of `close()`, but not for a server that does not answer. */
export async function closed(closable: { close(): Promise<void> }): Promise<void> {
  await settledWithin(closable.close(), CLOSE_STORE_LIMIT_MS, systemClock)
}

export async function openStore(address: string, options: OpenOptions = {}): Promise<OpenedStore> {
  checkAddress(address)
  const open = OPEN_BY_SCHEME[address.slice(0, address.indexOf(':'))] as Open
  return untilReached(options, async (left) => {
    try {
      const opened = open(address, options)
      // A limited wait is also the limit for a server that accepts the connection and is silent.
      return await (left > 0
        ? answerWithin(opened, Math.max(left, MIN_REACH_MS), { clock: systemClock })
        : opened)
    } catch (error) {
      throw asFailure(error, redactAddress(address))
    }
  })
}

/** Repeats the work while it fails because the server cannot be reached, for as long as the options say. */
export async function untilReached<T>(
  { retryFor = 0, signal, onRetry }: OpenOptions,
  work: (left: number) => Promise<T>,
): Promise<T> {
  const giveUpAt = systemClock.monotonic() + retryFor
  for (let tries = 1; ; tries++) {
    try {
      return await orAborted(work(giveUpAt - systemClock.monotonic()), signal)
    } catch (error) {
      signal?.throwIfAborted()
      const left = giveUpAt - systemClock.monotonic()
      if (left <= 0 || !isRetryable((error as Error).cause)) throw error
      if (tries === 1) onRetry?.(error as Error)
      const ms = Math.min(left, backoffMs(systemClock, tries))
      await (signal ? pauseUntilAborted(systemClock, ms, signal) : pause(systemClock, ms))
    }
  }
}
