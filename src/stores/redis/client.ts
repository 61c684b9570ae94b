import { LeaseError } from '../../core/index.ts'
import { whatCame } from '../what-came.ts'

/** `Redis` of `ioredis`: what is used of it. */
export interface IoRedis extends Emitter {
  readonly status: string
  readonly stream?: unknown
  evalsha(sha: string, keys: number, ...args: string[]): Promise<unknown>
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
  duplicate(override?: object): IoRedis
  connect(): Promise<unknown>
  disconnect(): void
}

/** `Cluster` of `ioredis`. */
export interface IoRedisCluster extends Pick<IoRedis, 'status' | 'evalsha' | 'eval'> {
  nodes(role: 'master'): IoRedis[]
}

/** What `createClient` of `redis` returns. */
export interface NodeRedis extends Emitter {
  readonly options?: { readonly socket?: object }
  evalSha(sha: string, options: ScriptOptions): Promise<unknown>
  eval(script: string, options: ScriptOptions): Promise<unknown>
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>
  unsubscribe(channel: string, listener?: (message: string, channel: string) => void): Promise<unknown>
  duplicate(overrides?: object): NodeRedis
  connect(): Promise<unknown>
  disconnect(): unknown
  unref(): void
}

/** What `createCluster` of `redis` returns. */
export interface NodeRedisCluster extends Pick<NodeRedis, 'evalSha' | 'eval'> {
  getRandomNode(): unknown
  nodeClient(node: never): unknown
}

export type RedisClient = IoRedis | IoRedisCluster | NodeRedis | NodeRedisCluster

interface ScriptOptions {
  keys: string[]
  arguments: string[]
}

interface Emitter {
  on(event: string, listener: (...args: string[]) => void): unknown
  off(event: string, listener: (...args: string[]) => void): unknown
}

/** One way to talk to either client. */
export interface RedisDialect {
  readonly cluster: boolean
  evalSha(sha: string, keys: string[], args: string[]): Promise<unknown>
  eval(script: string, keys: string[], args: string[]): Promise<unknown>
  /** Opens a connection of our own with the client's options, since one that subscribes can do nothing else. */
  subscriber(hear: Hearing): Promise<Subscriber>
}

export interface Hearing {
  readonly message: (channel: string, message: string) => void
  /** The connection broke, and does not come back by itself. */
  readonly broken: () => void
}

export interface Subscriber {
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  close(): void
}

export function dialectOf(client: RedisClient, option: string): RedisDialect {
  const candidate: { status?: unknown } & { [method: string]: unknown } = Object(client)
  const has = (...names: string[]) => names.every((name) => typeof candidate[name] === 'function')
  if (typeof candidate.status === 'string' && has('evalsha', 'eval')) {
    if (has('nodes')) return ioRedisCluster(client as IoRedisCluster)
    if (has('duplicate', 'subscribe')) return ioRedis(client as IoRedis)
  }
  if (has('evalSha', 'eval')) {
    if (has('getRandomNode', 'nodeClient')) return nodeRedisCluster(client as NodeRedisCluster)
    if (has('duplicate', 'subscribe', 'connect')) return nodeRedis(client as NodeRedis)
  }
  throw new LeaseError(
    'invalid-argument',
    `${option}: expected a Redis or Cluster of ioredis, or a client or cluster of redis (node-redis), got ${whatCame(client)}`,
  )
}

function ioRedis(client: IoRedis): RedisDialect {
  return {
    cluster: false,
    ...ioRedisScripts(client),
    subscriber: (hear) => ioRedisSubscriber(client, hear),
  }
}

function ioRedisCluster(client: IoRedisCluster): RedisDialect {
  return {
    cluster: true,
    ...ioRedisScripts(client),
    // Not the cluster's own subscriber, which moves from node to node without a word of what it missed.
    async subscriber(hear) {
      const nodes = client.nodes('master')
      const node = nodes[Math.floor(Math.random() * nodes.length)]
      if (!node) throw new LeaseError('store-unavailable', 'Redis: no node of the cluster is known yet')
      return ioRedisSubscriber(node, hear)
    },
  }
}

function ioRedisScripts(client: IoRedis | IoRedisCluster): Pick<RedisDialect, 'evalSha' | 'eval'> {
  return {
    evalSha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
  }
}

async function ioRedisSubscriber(model: IoRedis, { message, broken }: Hearing): Promise<Subscriber> {
  const own = model.duplicate({ lazyConnect: true, retryStrategy: () => null })
  own.on('error', () => {})
  await own.connect()
  const stream = own.stream as { unref?(): void } | undefined
  stream?.unref?.()
  own.on('message', message)
  own.on('end', broken)
  return {
    subscribe: (channel) => own.subscribe(channel),
    unsubscribe: (channel) => own.unsubscribe(channel),
    close() {
      own.off('end', broken)
      own.disconnect()
    },
  }
}

function nodeRedis(client: NodeRedis): RedisDialect {
  return {
    cluster: false,
    ...nodeRedisScripts(client),
    subscriber: (hear) => nodeRedisSubscriber(client, hear),
  }
}

function nodeRedisCluster(client: NodeRedisCluster): RedisDialect {
  return {
    cluster: true,
    ...nodeRedisScripts(client),
    async subscriber(hear) {
      const node = await client.nodeClient(client.getRandomNode() as never)
      return nodeRedisSubscriber(node as NodeRedis, hear)
    },
  }
}

function nodeRedisScripts(client: NodeRedis | NodeRedisCluster): Pick<RedisDialect, 'evalSha' | 'eval'> {
  return {
    evalSha: (sha, keys, args) => client.evalSha(sha, { keys, arguments: args }),
    eval: (script, keys, args) => client.eval(script, { keys, arguments: args }),
  }
}

async function nodeRedisSubscriber(model: NodeRedis, { message, broken }: Hearing): Promise<Subscriber> {
  const own = model.duplicate({ socket: { ...model.options?.socket, reconnectStrategy: false } })
  const listener = (text: string, channel: string) => message(channel, text)
  let open = false
  // It does not reconnect, so the first error is its end.
  own.on('error', () => {
    if (open) broken()
  })
  await own.connect()
  own.unref()
  open = true
  return {
    subscribe: (channel) => own.subscribe(channel, listener),
    unsubscribe: (channel) => own.unsubscribe(channel, listener),
    close() {
      open = false
      // Throws or rejects when the connection has ended already.
      new Promise((resolve) => resolve(own.disconnect())).catch(() => {})
    },
  }
}
