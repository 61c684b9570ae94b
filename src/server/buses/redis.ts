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
  const listen = listenOf(client)
  const ear = new Ear((hearing) => listen(channel, hearing))
  let closed = false
  return {
    async publish(message) {
      if (closed) throw busClosed()
      const text = JSON.stringify(message)
      await inTime(() => client.publish(channel, text))
      ear.expectEcho()
    },
    subscribe: (on) => ear.add(on),
    async close() {
      closed = true
      await ear.close()
    },
  }
}

type Listen = (channel: string, hearing: Hearing) => Promise<Line>

function listenOf(client: RedisBusClient): Listen {
  const candidate: { status?: unknown } & Record<string, unknown> = Object(client)
  const has = (...names: string[]) => names.every((name) => typeof candidate[name] === 'function')
  if (has('publish', 'nodes'))
    return async (...args) => ioRedisLine(masterOf(client as IoRedisBusCluster), ...args)
  if (has('publish', 'duplicate', 'subscribe') && typeof candidate.status === 'string')
    return (...args) => ioRedisLine(client as IoRedisBusClient, ...args)
  if (has('publish', 'getRandomNode', 'nodeClient')) {
    const cluster = client as NodeRedisBusCluster
    return async (...args) => {
      const node = await cluster.nodeClient(cluster.getRandomNode() as never)
      return nodeRedisLine(node as NodeRedisBusClient, ...args)
    }
  }
  if (has('publish', 'duplicate', 'subscribe', 'connect'))
    return (...args) => nodeRedisLine(client as NodeRedisBusClient, ...args)
  throw new LeaseError(
    'invalid-argument',
    'client: expected a Redis or Cluster of ioredis, or a client or cluster of redis (node-redis)',
  )
}

/** What one node of a cluster publishes is heard on all. */
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
