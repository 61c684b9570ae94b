import { onAbort } from '../base/abort.ts'
import { hasMethods, refuse, refuseClient } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { brokenError, isEnded } from './redis-errors.ts'

/** The part of `Redis` of `ioredis` that Holdfast uses. */
export interface IoRedis extends Emitter {
  readonly status: string
  readonly stream?: unknown
  evalsha(sha: string, keys: number, ...args: string[]): Promise<unknown>
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
  duplicate(override?: object): IoRedis
  connect(): Promise<unknown>
  disconnect(): void
}

/** `Cluster` of `ioredis`. */
export interface IoRedisCluster extends Pick<IoRedis, 'status' | 'evalsha' | 'eval' | 'publish'> {
  nodes(role: 'master'): IoRedis[]
}

/** What `createClient` of `redis` returns. */
export interface NodeRedis extends Emitter {
  readonly options?: { readonly socket?: object }
  evalSha(sha: string, options: ScriptOptions): Promise<unknown>
  eval(script: string, options: ScriptOptions): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>
  unsubscribe(channel: string, listener?: (message: string, channel: string) => void): Promise<unknown>
  duplicate(overrides?: object): NodeRedis
  connect(): Promise<unknown>
  disconnect(): unknown
  unref(): void
}

/** What `createCluster` of `redis` returns. */
export interface NodeRedisCluster extends Pick<NodeRedis, 'evalSha' | 'eval' | 'publish'> {
  readonly isOpen?: boolean
  getRandomNode(): unknown
  nodeClient(node: never): unknown
}

export type RedisClient = IoRedis | IoRedisCluster | NodeRedis | NodeRedisCluster

/** Whatever can run a script: every `RedisClient`, and also a pool or a sentinel of `redis`. */
export type RedisScriptClient = IoRedisScriptClient | NodeRedisScriptClient
export type IoRedisScriptClient = Pick<IoRedis, 'eval'>
export type NodeRedisScriptClient = Pick<NodeRedis, 'eval'> & { readonly evalSha: unknown }

interface ScriptOptions {
  keys: string[]
  arguments: string[]
}

interface Emitter {
  on(event: string, listener: (...args: string[]) => void): unknown
  off(event: string, listener: (...args: string[]) => void): unknown
}

/** Both packages behind one interface. Errors are those of the package: pass them to `redisError`. */
export interface RedisDatabase {
  readonly cluster: boolean
  evalSha(sha: string, keys: string[], args: string[]): Promise<unknown>
  eval(script: string, keys: string[], args: string[]): Promise<unknown>
  /** Messages of one sender arrive in order. */
  publish(channel: string, message: string): Promise<unknown>
  /** Opens a separate connection with the client's options, because one that subscribes can do nothing else. */
  subscriber(hooks: SubscriberHooks): Promise<RedisSubscriber>
}

export interface SubscriberHooks {
  readonly message: (channel: string, message: string) => void
  /** The connection broke and does not come back by itself. */
  readonly broken: () => void
  /** Gives up a connection that is being opened. */
  readonly stop?: AbortSignal
}

export interface RedisSubscriber {
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  close(): void
}

const EXPECTED = 'a Redis or Cluster of ioredis, or a client or cluster of redis (node-redis)'

export function redisDatabase(client: unknown, option = 'client'): RedisDatabase {
  const has = (...names: string[]) => hasMethods(client, ...names)
  if (has('evalsha', 'eval') && typeof (client as IoRedis).status === 'string') {
    if (has('nodes')) return ioRedisCluster(client as IoRedisCluster)
    if (has('duplicate', 'subscribe')) return ioRedis(client as IoRedis)
  }
  if (has('evalSha', 'eval')) {
    if (has('getRandomNode', 'nodeClient')) return nodeRedisCluster(client as NodeRedisCluster)
    // `createSentinel` has no `unref`: it changes its connections by itself, without reporting what was missed.
    if (has('duplicate', 'subscribe', 'connect', 'unref')) return nodeRedis(client as NodeRedis)
  }
  refuseClient(option, EXPECTED, client)
}

/** A prefix of keys. Braces would decide about the slot in a cluster. */
export function expectPrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix !== 'string' || !/^[^{}\p{Cc}\p{Cs}]+$/u.test(prefix))
    refuse('prefix', 'a name without braces and control characters', prefix)
}

/** Runs scripts through any client that can, also one that cannot subscribe. */
export function redisEval(client: unknown, option = 'client'): RedisDatabase['eval'] {
  if (hasMethods(client, 'eval', 'evalSha')) return nodeRedisScripts(client as NodeRedis).eval
  if (hasMethods(client, 'eval')) return ioRedisScripts(client as IoRedis).eval
  refuseClient(option, EXPECTED, client)
}

function ioRedis(client: IoRedis): RedisDatabase {
  return {
    cluster: false,
    ...ioRedisScripts(client),
    publish: (channel, message) => client.publish(channel, message),
    subscriber: (hooks) => ioRedisSubscriber(client, hooks),
  }
}

function ioRedisCluster(client: IoRedisCluster): RedisDatabase {
  const pick = async () => {
    const nodes = client.nodes('master')
    const node = nodes[Math.floor(systemClock.random() * nodes.length)]
    if (!node) throw new LeaseError('store-unavailable', 'Redis: no node of the cluster is known yet')
    return node
  }
  return {
    cluster: true,
    ...clusterScripts(ioRedisScripts(client), () => client.status === 'end'),
    publish: publishOnOneNode(pick),
    // Not the cluster's own subscriber, which moves between nodes without reporting what it missed.
    subscriber: async (hooks) => ioRedisSubscriber(await pick(), hooks),
  }
}

/**
 * A message published on one node of a cluster reaches all of them. The client would choose another node for every
 * message, and messages could overtake each other, so one node is used until it fails.
 */
function publishOnOneNode(pick: () => Promise<IoRedis | NodeRedis>): RedisDatabase['publish'] {
  let picked: Promise<IoRedis | NodeRedis> | undefined
  return async (channel, message) => {
    picked ??= pick()
    try {
      return await orBroken((await picked).publish(channel, message))
    } catch (error) {
      picked = undefined
      throw error
    }
  }
}

type Scripts = Pick<RedisDatabase, 'evalSha' | 'eval'>

function clusterScripts(scripts: Scripts, isClosed: () => boolean): Scripts {
  return {
    evalSha: (sha, keys, args) => orBroken(scripts.evalSha(sha, keys, args), isClosed),
    eval: (script, keys, args) => orBroken(scripts.eval(script, keys, args), isClosed),
  }
}

/**
 * For connections that are replaced when they end: those to single nodes of a cluster, and those that subscribe.
 * Their end is a reason to retry, unless the user's own client was closed.
 */
async function orBroken<T>(work: Promise<T>, isClosed: () => boolean = () => false): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw isEnded(error) && !isClosed() ? brokenError(error) : error
  }
}

function ioRedisScripts(client: IoRedis | IoRedisCluster): Scripts {
  return {
    evalSha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
  }
}

async function ioRedisSubscriber(
  model: IoRedis,
  { message, broken, stop }: SubscriberHooks,
): Promise<RedisSubscriber> {
  const own = model.duplicate({ lazyConnect: true, retryStrategy: () => null })
  let lastError: unknown
  own.on('error', (error: unknown) => {
    lastError = error
  })
  onAbort(stop, () => own.disconnect())
  try {
    await own.connect()
  } catch (error) {
    // `connect` itself says only that the connection is closed.
    throw lastError ?? brokenError(error)
  }
  const stream = own.stream as { unref?(): void } | undefined
  stream?.unref?.()
  own.on('message', message)
  own.on('end', broken)
  return {
    subscribe: (channel) => orBroken(own.subscribe(channel)),
    unsubscribe: (channel) => own.unsubscribe(channel),
    close() {
      own.off('end', broken)
      own.disconnect()
    },
  }
}

function nodeRedis(client: NodeRedis): RedisDatabase {
  return {
    cluster: false,
    ...nodeRedisScripts(client),
    publish: (channel, message) => client.publish(channel, message),
    subscriber: (hooks) => nodeRedisSubscriber(client, hooks),
  }
}

function nodeRedisCluster(client: NodeRedisCluster): RedisDatabase {
  const pick = async () => (await client.nodeClient(client.getRandomNode() as never)) as NodeRedis
  return {
    cluster: true,
    ...clusterScripts(nodeRedisScripts(client), () => client.isOpen === false),
    publish: publishOnOneNode(pick),
    subscriber: async (hooks) => nodeRedisSubscriber(await pick(), hooks),
  }
}

function nodeRedisScripts(client: NodeRedis | NodeRedisCluster): Scripts {
  return {
    evalSha: async (sha, keys, args) => asText(await client.evalSha(sha, { keys, arguments: args })),
    eval: async (script, keys, args) => asText(await client.eval(script, { keys, arguments: args })),
  }
}

/** The `typeMapping` of a client may ask for bytes. */
function asText(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(asText)
  return answer instanceof Uint8Array ? new TextDecoder().decode(answer) : answer
}

async function nodeRedisSubscriber(
  model: NodeRedis,
  { message, broken, stop }: SubscriberHooks,
): Promise<RedisSubscriber> {
  const own = model.duplicate({ socket: { ...model.options?.socket, reconnectStrategy: false } })
  const listener = (text: string, channel: string) => message(channel, text)
  let open = false
  // It does not reconnect, so the first error ends it.
  own.on('error', () => {
    if (open) broken()
  })
  // Throws or rejects if the connection has already ended.
  const disconnect = () => notify(() => own.disconnect())
  // Before it has a socket, the client cannot be stopped.
  own.on('connect', () => onAbort(stop, disconnect))
  await own.connect()
  own.unref()
  open = true
  return {
    subscribe: (channel) => orBroken(own.subscribe(channel, listener)),
    unsubscribe: (channel) => own.unsubscribe(channel, listener),
    close() {
      open = false
      disconnect()
    },
  }
}
