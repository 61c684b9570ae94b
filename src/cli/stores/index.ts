import { orAborted } from '../../base/abort.ts'
import { answerWithin } from '../../base/answer-within.ts'
import { systemClock } from '../../base/clock.ts'
import { isRetryable } from '../../base/errors.ts'
import { backoffMs, pause, pauseUntilAborted } from '../../base/pause.ts'
import { SETTINGS } from '../../configuration/settings.ts'
import { asFailure, usageFailure } from '../failure.ts'
import type { CommandSettings } from '../settings.ts'
import type { OpenedStore, OpenOptions } from './opened-store.ts'

/** A command that has done its work does not wait longer for a server that does not answer. */
const CLOSE_LIMIT_MS = 1000
/** A healthy server on another continent answers within this time, however short the wait for a lease is. */
const MIN_REACH_MS = 2000

type Open = (address: string, options: OpenOptions) => Promise<OpenedStore>

const redis: Open = async (address) => (await import('./redis.ts')).openRedis(new URL(address))
const postgres: Open = async (address) => (await import('./postgres.ts')).openPostgres(new URL(address))
const etcd: Open = async (address) => (await import('./etcd.ts')).openEtcd(address)
const http: Open = async (address) => (await import('./http.ts')).openHttp(new URL(address))

export const OPEN_BY_SCHEME: Readonly<Record<string, Open>> = {
  sqlite: async (address, options) => (await import('./local.ts')).openSqlite(address, options),
  file: async (address, options) => (await import('./local.ts')).openFile(address, options),
  redis,
  rediss: redis,
  postgres,
  postgresql: postgres,
  mysql: async (address) => (await import('./mysql.ts')).openMysql(new URL(address)),
  nats: async (address) => (await import('./nats.ts')).openNats(new URL(address)),
  etcd,
  etcds: etcd,
  http,
  https: http,
}

export function storeAddress(settings: CommandSettings): string {
  return settings.text('store') ?? SETTINGS.store.default
}

/** Opens the store, runs the work, and closes the store. Failures name the store. */
export async function withStore<T>(
  address: string,
  work: (opened: OpenedStore) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const { onStep = () => {} } = options
  onStep(`connecting to ${withoutPassword(address)}`)
  const opened = await openStore(address, options)
  onStep(`waiting for ${withoutPassword(address)}`)
  try {
    return await work(opened)
  } catch (error) {
    throw asFailure(error, withoutPassword(address))
  } finally {
    onStep('')
    await closed(opened)
  }
}

/** Waits for the end of `close()`, but not for a server that does not answer. */
export async function closed(closable: { close(): Promise<void> }): Promise<void> {
  const limit = pause(systemClock, CLOSE_LIMIT_MS, { background: true })
  await Promise.race([closable.close().catch(() => {}), limit])
}

export async function openStore(address: string, options: OpenOptions = {}): Promise<OpenedStore> {
  const shown = withoutPassword(address)
  const scheme = /^([a-z]+):/.exec(address)?.[1] ?? ''
  const open = Object.hasOwn(OPEN_BY_SCHEME, scheme) ? OPEN_BY_SCHEME[scheme] : undefined
  if (!open) {
    const schemes = Object.keys(OPEN_BY_SCHEME).map((known) => `${known}:`)
    throw usageFailure(
      `${shown} is not the address of a store; expected one that begins with ${schemes.join(', ')}`,
    )
  }
  return untilReached(options, async (left) => {
    try {
      const opened = open(address, options)
      // Whoever waits for a limited time does not wait longer for a server that accepts the connection and is silent.
      return await (left > 0
        ? answerWithin(opened, Math.max(left, MIN_REACH_MS), { clock: systemClock })
        : opened)
    } catch (error) {
      // A `URIError`: a `%` in the user or the password that is not followed by two digits.
      if (error instanceof URIError || (error as { code?: string }).code === 'ERR_INVALID_URL')
        throw usageFailure(`${shown} is not a valid URL; expected one such as redis://localhost:6379`)
      throw asFailure(error, shown)
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

/** For messages, which end up in logs and mails. Without a password, the user of `http` and `nats` is a token. */
export function withoutPassword(address: string): string {
  return address
    .replace(/(:\/\/[^/?#]*?):[^/?#]*@/, '$1:…@')
    .replace(/^(https?|nats)(:\/\/)[^:/?#]*@/, '$1$2…@')
}
