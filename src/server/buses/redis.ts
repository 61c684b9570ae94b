import { LeaseError } from '../../core/index.ts'
import type { Bus } from '../bus.ts'
import { Ear, type Hearing, type Line } from './ear.ts'
import { inTime } from './in-time.ts'
import { busClosed } from './listeners.ts'

interface Publisher {
  publish(channel: string, text: string): Promise<unknown>
}

/** `Redis` of `ioredis`: what is used of it. */
export interface IoRedisBusClient extends Publisher {
  readonly status: string
  duplicate(override?: object): IoRedisBusClient
  connect(): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  on(event: string, listener: (...args: string[]) => void): unknown
  disconnect(): void
}

/** `Cluster` of `ioredis`. */
export interface IoRedisBusCluster extends Publisher {
  nodes(role: 'master'): IoRedisBusClient[]
}

/** What `createClient` of `redis` returns. */
export interface NodeRedisBusClient extends Publisher {
  readonly options?: { readonly socket?: object }
  duplicate(overrides?: object): NodeRedisBusClient
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (text: string) => void): Promise<unknown>
  on(event: string, listener: () => void): unknown
  disconnect(): unknown
}

/** What `createCluster` of `redis` returns. */
export interface NodeRedisBusCluster extends Publisher {
  getRandomNode(): unknown
  nodeClient(node: never): unknown
}

export type RedisBusClient = IoRedisBusClient | IoRedisBusCluster | NodeRedisBusClient | NodeRedisBusCluster

export interface RedisBusOptions {
  /** Default `holdfast:bus`. */
  readonly channel?: string
}

/**
 * A bus on pub/sub of Redis, a single server or a cluster. Takes a client of yours and leaves it open; it listens on
 * a duplicate of it.
 *
 * @example
 * const bus = redisBus(new Redis())
 */
export function redisBus(client: RedisBusClient, { channel = 'holdfast:bus' }: RedisBusOptions = {}): Bus {
  const redis = dialectOf(client)
  const ear = new Ear((hearing) => redis.listen(channel, hearing))
  let closed = false
  return {
    async publish(message) {
      if (closed) throw busClosed()
      const text = JSON.stringify(message)
      await inTime(() => redis.publish(channel, text))
      ear.expectEcho()
    },
    subscribe: (on) => ear.add(on),
    async close() {
      closed = true
      await ear.close()
    },
  }
}

interface RedisDialect extends Publisher {
  /** On a connection of its own, since one that subscribes can do nothing else. */
  listen(channel: string, hearing: Hearing): Promise<Line>
}

function dialectOf(client: RedisBusClient): RedisDialect {
  const candidate: { status?: unknown } & Record<string, unknown> = Object(client)
  const has = (...names: string[]) => names.every((name) => typeof candidate[name] === 'function')
  if (has('publish', 'nodes')) return inCluster(() => masterOf(client as IoRedisBusCluster), ioRedisLine)
  if (has('publish', 'getRandomNode', 'nodeClient')) {
    const cluster = client as NodeRedisBusCluster
    const pick = () => cluster.nodeClient(cluster.getRandomNode() as never) as NodeRedisBusClient
    return inCluster(async () => pick(), nodeRedisLine)
  }
  if (has('publish', 'duplicate', 'subscribe', 'connect')) {
    const publish: Publisher['publish'] = (channel, text) => client.publish(channel, text)
    return typeof candidate.status === 'string'
      ? { publish, listen: (...args) => ioRedisLine(client as IoRedisBusClient, ...args) }
      : { publish, listen: (...args) => nodeRedisLine(client as NodeRedisBusClient, ...args) }
  }
  throw new LeaseError(
    'invalid-argument',
    'client: expected a Redis or Cluster of ioredis, or a client or cluster of redis (node-redis)',
  )
}

/**
 * What is published on one node of a cluster is heard on all. The client would take another node for every message,
 * and messages overtake each other on their ways; so one node is kept until it fails.
 */
function inCluster<Node extends Publisher>(
  pick: () => Node | Promise<Node>,
  line: (node: Node, channel: string, hearing: Hearing) => Promise<Line>,
): RedisDialect {
  let picked: Promise<Node> | undefined
  return {
    async publish(channel, text) {
      picked ??= (async () => pick())()
      try {
        return await (await picked).publish(channel, text)
      } catch (error) {
        picked = undefined
        throw error
      }
    },
    listen: async (...args) => line(await pick(), ...args),
  }
}

function masterOf(cluster: IoRedisBusCluster): IoRedisBusClient {
  const nodes = cluster.nodes('master')
  const node = nodes[Math.floor(Math.random() * nodes.length)]
  if (!node) throw new LeaseError('store-unavailable', 'bus: no node of the cluster is known yet')
  return node
}

function ioRedisLine(model: IoRedisBusClient, channel: string, { heard, dropped }: Hearing): Promise<Line> {
  const own = model.duplicate({ lazyConnect: true, retryStrategy: () => null })
  own.on('error', () => {})
  own.on('message', (_, text = '') => heard(text))
  own.on('end', dropped)
  return opened(own, () => own.subscribe(channel))
}

function nodeRedisLine(
  model: NodeRedisBusClient,
  channel: string,
  { heard, dropped }: Hearing,
): Promise<Line> {
  const own = model.duplicate({ socket: { ...model.options?.socket, reconnectStrategy: false } })
  // It does not reconnect, so the first error is its end.
  own.on('error', dropped)
  return opened(own, () => own.subscribe(channel, heard))
}

async function opened(
  own: IoRedisBusClient | NodeRedisBusClient,
  subscribe: () => Promise<unknown>,
): Promise<Line> {
  const close = () => own.disconnect()
  try {
    await own.connect()
    await subscribe()
  } catch (error) {
    inTime(close).catch(() => {})
    throw error
  }
  return { close }
}
