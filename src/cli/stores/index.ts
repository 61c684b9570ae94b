import { asFailure, usageFailure } from '../failure.ts'
import type { CommandSettings } from '../settings.ts'
import type { OpenedStore, Opening } from './opened-store.ts'

const DEFAULT_URL = 'sqlite:./holdfast.db'
/** A server that does not answer must not keep a command that has done its work. */
const CLOSE_LIMIT_MS = 1000

type Opener = (address: string, opening: Opening) => Promise<OpenedStore>

const OPENERS: Readonly<Record<string, Opener>> = {
  sqlite: async (address, opening) => (await import('./sqlite.ts')).openSqlite(address, opening),
  file: async (address, opening) => (await import('./file.ts')).openFile(address, opening),
  redis: async (address) => (await import('./redis.ts')).openRedis(new URL(address)),
  rediss: async (address) => (await import('./redis.ts')).openRedis(new URL(address)),
  postgres: async (address) => (await import('./postgres.ts')).openPostgres(new URL(address)),
  postgresql: async (address) => (await import('./postgres.ts')).openPostgres(new URL(address)),
  nats: async (address) => (await import('./nats.ts')).openNats(new URL(address)),
  http: async (address) => (await import('./http.ts')).openHttp(new URL(address)),
  https: async (address) => (await import('./http.ts')).openHttp(new URL(address)),
}

export function storeAddress(settings: CommandSettings): string {
  return settings.text('store') ?? DEFAULT_URL
}

/** Opens the store for the work and closes it after. What fails in between is told with the store's name. */
export async function withStore<T>(
  address: string,
  work: (opened: OpenedStore) => Promise<T>,
  opening: Opening = {},
): Promise<T> {
  const opened = await openStore(address, opening)
  try {
    return await work(opened)
  } catch (error) {
    throw asFailure(error, withoutPassword(address))
  } finally {
    const limit = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_LIMIT_MS).unref())
    await Promise.race([opened.close().catch(() => {}), limit])
  }
}

export async function openStore(address: string, opening: Opening = {}): Promise<OpenedStore> {
  const scheme = /^([a-z]+):/.exec(address)?.[1] ?? ''
  const open = Object.hasOwn(OPENERS, scheme) ? OPENERS[scheme] : undefined
  if (!open)
    throw usageFailure(
      `${withoutPassword(address)} is no store; one begins with ${Object.keys(OPENERS)
        .map((known) => `${known}:`)
        .join(', ')}`,
    )
  try {
    return await open(address, opening)
  } catch (error) {
    if (error instanceof TypeError && (error as { code?: string }).code === 'ERR_INVALID_URL')
      throw usageFailure(`${withoutPassword(address)} is no URL; one is like redis://localhost:6379`)
    throw asFailure(error, withoutPassword(address))
  }
}

/** For messages, which end up in logs and mails. Where there is no password the user may be a token. */
export function withoutPassword(address: string): string {
  return address
    .replace(/(:\/\/[^/?#]*?):[^/?#]*@/, '$1:…@')
    .replace(/^(https?|nats)(:\/\/)[^:/?#]*@/, '$1$2…@')
}
