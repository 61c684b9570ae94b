/** Connects to one server of Redis, to a cluster, or through sentinels, with the client that is installed. */
import { systemClock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import type { RedisClient } from '../../clients/redis.ts'
import { isEnded, isReply, redisError } from '../../clients/redis-errors.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { CONNECT_LIMIT_MS } from '../options.ts'
import { accessDenied, closedByServer, loadClient } from './opened-store.ts'

export interface ConnectedRedis {
  readonly client: RedisClient
  readonly driver: string
  info(): Promise<string>
  close(): void
}

export type RedisPlace = OneServer | SeveralServers

interface OneServer {
  readonly kind: 'server'
  readonly url: string
}

interface SeveralServers {
  readonly kind: 'cluster' | 'sentinel'
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly tls: boolean
  readonly user: { readonly username?: string; readonly password?: string }
  /** Of the primary, among the sentinels. */
  readonly name: string
  readonly db: number
  readonly sentinelUser: { readonly sentinelUsername?: string; readonly sentinelPassword?: string }
}

/** Several hosts are not a URL for `URL`. `checkAddress` has seen the address before. */
const SEVERAL =
  /^redis(?<tls>s?)\+(?<kind>cluster|sentinel):\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]+)\/?(?<name>[^?#]*)(?:\?(?<query>[^#]*))?$/
const DEFAULT_PORTS = { cluster: '6379', sentinel: '26379' }

/** Of an address such as `redis+cluster://a,b` or `redis+sentinel://a,b/name`. Also returns its prefix. */
export function parseRedisAddress(address: string): { readonly place: RedisPlace; readonly prefix?: string } {
  const { tls, kind, user, password, hosts, name, query } = SEVERAL.exec(address)?.groups ?? {}
  if (kind !== 'cluster' && kind !== 'sentinel') {
    const url = new URL(address)
    const prefix = url.searchParams.get('prefix')
    url.searchParams.delete('prefix')
    return { place: { kind: 'server', url: url.href }, ...(prefix !== null && { prefix }) }
  }
  const parameters = new URLSearchParams(query)
  const text = (parameter: string) => parameters.get(parameter) ?? undefined
  const prefix = text('prefix')
  const place: SeveralServers = {
    kind,
    hosts: (hosts ?? '').split(',').map((host) => {
      const { hostname, port } = new URL(`redis://${host}`)
      return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || DEFAULT_PORTS[kind]) }
    }),
    tls: tls === 's',
    user: given({
      username: user && decodeURIComponent(user),
      password: password && decodeURIComponent(password),
    }),
    name: decodeURIComponent(name ?? ''),
    db: Number(text('db') ?? 0),
    sentinelUser: given({
      sentinelUsername: text('sentinelUser'),
      sentinelPassword: text('sentinelPassword'),
    }),
  }
  return { place, ...(prefix !== undefined && { prefix }) }
}

/** Without the fields that have no text. */
function given<Name extends string>(
  fields: Readonly<Record<Name, string | undefined>>,
): { readonly [N in Name]?: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, text]) => text)) as { [N in Name]?: string }
}

export async function connectRedis(place: RedisPlace): Promise<ConnectedRedis> {
  const connect = await loadClient<(place: RedisPlace) => Promise<ConnectedRedis>>('Redis', {
    ioredis: async () => withIoRedis(await import('ioredis')),
    redis: async () => withNodeRedis(await import('redis')),
  })
  return connect(place)
}

function withIoRedis({ Redis, Cluster }: Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>) {
  const options = { lazyConnect: true, connectTimeout: CONNECT_LIMIT_MS }
  const create = (place: RedisPlace) => {
    if (place.kind === 'server') return new Redis(place.url, options)
    const { kind, hosts, tls, user, name, db, sentinelUser } = place
    const secured = tls ? { tls: {} } : {}
    if (kind === 'cluster')
      return new Cluster([...hosts], {
        lazyConnect: true,
        redisOptions: { connectTimeout: CONNECT_LIMIT_MS, ...user, ...secured },
      })
    const sentinels = { sentinels: [...hosts], name, ...sentinelUser }
    return new Redis({
      ...options,
      ...sentinels,
      ...user,
      db,
      ...secured,
      ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
    })
  }
  return async (place: RedisPlace): Promise<ConnectedRedis> => {
    const client = create(place)
    const close = () => client.disconnect()
    await connectOnce(client, close, place.kind)
    return { client, driver: 'ioredis', info: () => client.info(), close }
  }
}

function withNodeRedis({
  createClient,
  createCluster,
}: Pick<typeof import('redis'), 'createClient' | 'createCluster'>) {
  const socket = { connectTimeout: CONNECT_LIMIT_MS }
  return async (place: RedisPlace): Promise<ConnectedRedis> => {
    if (place.kind === 'server') {
      const client = createClient({ url: place.url, socket })
      const close = () => client.destroy()
      await connectOnce(client, close, place.kind)
      return { client, driver: 'redis', info: () => client.info(), close }
    }
    const { kind, hosts, tls, user } = place
    if (kind === 'sentinel')
      throw new Failure(
        EXIT.failed,
        'redis+sentinel: needs the client ioredis; run npm install ioredis where holdfast is installed',
      )
    const secured = tls ? { ...socket, tls: true as const } : socket
    const rootNodes = hosts.map(({ host, port }) => ({ socket: { ...secured, host, port } }))
    const client = createCluster({ rootNodes, defaults: { ...user, socket: secured } })
    const close = () => client.destroy()
    await connectOnce(client, close, kind)
    const info = async () => {
      const node = await client.nodeClient(client.getRandomNode())
      return node.info()
    }
    return { client, driver: 'redis', info, close }
  }
}

/** How the replies to a missing or wrong password begin. The last one is of Redis before version 6. */
const ACCESS_DENIED = ['NOAUTH', 'WRONGPASS', 'NOPERM', 'ERR invalid password']

interface Connectable {
  connect(): Promise<unknown>
  on(event: 'error', listener: (error: unknown) => void): unknown
}

/**
 * Rejects after the first failure, because both clients would retry forever. The listener stays: later errors of the
 * connection are ignored, because each call reports them.
 */
async function connectOnce(client: Connectable, close: () => void, kind: RedisPlace['kind']): Promise<void> {
  const failed = Promise.withResolvers<never>()
  client.on('error', failed.reject)
  const timeout = new Error(`the server gave no answer within ${CONNECT_LIMIT_MS} ms`)
  const cancelLimit = systemClock.setTimer(() => failed.reject(timeout), CONNECT_LIMIT_MS, true)
  try {
    await Promise.race([client.connect(), failed.promise])
  } catch (thrown) {
    close()
    const error = kind === 'server' ? thrown : errorOfNode(thrown)
    const reason = ACCESS_DENIED.find((code) => isReply(error, code))
    if (kind !== 'server' && (!error || isEnded(error))) throw unreachable(kind)
    // Both clients were open until now, so it was the server that ended the connection.
    if (isEnded(error)) throw closedByServer('Redis', error)
    throw reason ? accessDenied(reason, 'redis', redisError(error).cause) : redisError(error)
  } finally {
    cancelLimit()
  }
}

/** What the last node or sentinel said, in the error for all of them. `undefined`: no sentinel knows the name. */
function errorOfNode(error: unknown): unknown {
  const { lastNodeError } = Object(error) as { readonly lastNodeError?: unknown }
  if (lastNodeError) return lastNodeError
  const [, isAll, said] =
    /^(All sentinels are unreachable)(?:.*? Last error: (.*))?/s.exec(messageOf(error)) ?? []
  if (!isAll) return error
  return said ? new Error(said, { cause: error }) : undefined
}

function unreachable(kind: 'cluster' | 'sentinel'): LeaseError {
  const what =
    kind === 'cluster'
      ? 'none of these nodes of the cluster answers'
      : 'no sentinel answers, or none knows a primary of this name'
  return new LeaseError('store-unavailable', `Redis: ${what}`)
}
