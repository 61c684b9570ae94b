/** Every option with a value of each wrong kind is refused, and the message names the option. */
import { Firestore } from '@google-cloud/firestore'
import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import { createPool, createPoolCluster } from 'mysql2'
import { Pool } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { show } from '../../src/base/arguments.ts'
import { messageOf } from '../../src/base/errors.ts'
import { createLeases } from '../../src/core/index.ts'
import { memoryGuard } from '../../src/guard/index.ts'
import { createLockManager } from '../../src/locks/index.ts'
import { etcdStore } from '../../src/stores/etcd/index.ts'
import { fileStore } from '../../src/stores/file/index.ts'
import { firestoreStore } from '../../src/stores/firestore/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { natsStore } from '../../src/stores/nats/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

const KINDS = {
  null: [null],
  boolean: [true],
  number: [5, -1, Number.NaN, 1.5],
  text: ['', 'x'],
  object: [{}, new Set()],
  array: [[]],
  function: [() => {}],
  bigint: [1n],
  symbol: [Symbol('x')],
}
type Kind = keyof typeof KINDS

/** What an option takes. All values of the other kinds are wrong, and so are these. */
interface Taken {
  readonly kinds: readonly Kind[]
  readonly wrong?: readonly unknown[]
}
type Options = Readonly<Record<string, Taken>>
const duration: Taken = { kinds: ['number', 'text'], wrong: [Number.NaN, -1, '', 'x'] }
const text: Taken = { kinds: ['text'], wrong: [''] }
const anyText: Taken = { kinds: ['text'] }
const whole: Taken = { kinds: ['number'], wrong: [Number.NaN, -1, 1.5] }
const func: Taken = { kinds: ['function'] }
const truth: Taken = { kinds: ['boolean'] }
/** An object with methods that none of the values has. */
const nothing: Taken = { kinds: [] }

const store = memoryStore()
const leases = createLeases(store)

/** None of them connects before it is used. */
const redis = new Redis({ lazyConnect: true })
const postgres = new Pool()
const mysql = createPool({})
const etcd = new Etcd3({ hosts: 'http://127.0.0.1:1' })
const nats = {
  isClosed: () => false,
  status: async function* () {},
  publish() {},
  subscribe: () => ({ unsubscribe() {} }),
  flush: async () => {},
}
const firestore = new Firestore({ projectId: 'holdfast-test' })
afterAll(() => {
  redis.disconnect()
  mysql.end()
  etcd.close()
})

const common: Options = {
  owner: text,
  ttl: duration,
  heartbeat: { ...duration, kinds: ['number', 'text', 'boolean'] },
  retry: func,
}
const acquiring: Options = {
  ...common,
  share: { ...whole, wrong: [...(whole.wrong ?? []), 0] },
  atLeast: duration,
  lockDelay: duration,
  metadata: { kinds: ['object'], wrong: [new Set()] },
  signal: nothing,
}
type Call = (options: never) => unknown
const CALLS: readonly (readonly [name: string, call: Call, options: Options])[] = [
  [
    'createLeases',
    (options) => createLeases(store, options),
    {
      ...common,
      wait: duration,
      callTimeout: duration,
      closeTimeout: duration,
      endsWithProcess: truth,
      clock: nothing,
      onEvent: func,
    },
  ],
  ['leases.acquire', (options) => leases.acquire('r', options), { ...acquiring, wait: duration }],
  ['leases.tryAcquire', (options) => leases.tryAcquire('r', options), acquiring],
  ['leases.acquireAll', (options) => leases.acquireAll(['r'], options), { ...acquiring, wait: duration }],
  [
    'leases.withLease',
    (options) => leases.withLease('r', () => {}, options),
    { ...acquiring, wait: duration },
  ],
  ['leases.lead', (options) => leases.lead('r', () => {}, options), acquiring],
  [
    'leases.list',
    (options) => leases.list(options),
    { prefix: anyText, limit: { ...whole, wrong: [0, -1, 1.5, Number.NaN] } },
  ],
  ['leases.watch', (options) => leases.watch(options, () => {}), { prefix: anyText }],
  ['leases.release', (options) => leases.release('r', options), { token: whole }],
  [
    'createLockManager',
    (options) => createLockManager(store, options),
    { ...common, callTimeout: duration, endsWithProcess: truth, clock: nothing, onEvent: func },
  ],
  ['memoryStore', (options) => memoryStore(options), { clock: nothing }],
  ['sqliteStore', (options) => sqliteStore(':memory:', options), { clock: nothing, table: text }],
  ['fileStore', (options) => fileStore('/nowhere', options), { clock: nothing }],
  [
    'redisStore',
    (options) => redisStore(redis, options),
    { prefix: text, listen: nothing, maxInFlight: whole },
  ],
  [
    'postgresStore',
    (options) => postgresStore(postgres, options),
    {
      schema: text,
      table: text,
      listen: { kinds: ['text', 'object'], wrong: [''] },
      migrate: truth,
      maxInFlight: whole,
    },
  ],
  [
    'mysqlStore',
    (options) => mysqlStore(mysql, options),
    { database: text, table: text, migrate: truth, poll: duration, maxInFlight: whole },
  ],
  ['etcdStore', (options) => etcdStore(etcd, options), { prefix: text, maxInFlight: whole }],
  ['natsStore', (options) => natsStore(nats, options), { bucket: text, replicas: whole, maxInFlight: whole }],
  [
    'firestoreStore',
    (options) => firestoreStore(firestore, options),
    { collection: text, maxInFlight: whole },
  ],
]

function wrongValues({ kinds, wrong = [] }: Taken): unknown[] {
  const others = Object.entries(KINDS).filter(([kind]) => !kinds.includes(kind as Kind))
  return [...others.flatMap(([, values]) => values as unknown[]), ...wrong]
}

async function expectRefused(name: string, call: () => unknown): Promise<void> {
  const error: unknown = await (async () => call())().catch((cause) => cause)
  expect(error).toMatchObject({ code: 'invalid-argument' })
  expect(messageOf(error)).toMatch(new RegExp(`^${name}\\b`))
}

describe('an option of the wrong kind is refused with its name', () => {
  const rows = CALLS.flatMap(([name, call, options]) =>
    Object.entries(options).flatMap(([option, taken]) =>
      wrongValues(taken).map((value) => [name, option, show(value), call, value] as const),
    ),
  )
  it.each(rows)('%s: %s %s', async (_, option, __, call, value) => {
    await expectRefused(option, () => call({ [option]: value } as never))
  })
})

const POSITIONAL: readonly (readonly [
  name: string,
  argument: string,
  call: (value: never) => unknown,
  Taken,
])[] = [
  ['createLeases', 'store', (value) => createLeases(value), nothing],
  ['createLeases', 'options', (value) => createLeases(store, value), { kinds: ['object'] }],
  ['leases.acquire', 'resource', (value) => leases.acquire(value), text],
  ['leases.acquire', 'options', (value) => leases.acquire('r', value), { kinds: ['object'] }],
  ['leases.tryAcquire', 'options', (value) => leases.tryAcquire('r', value), { kinds: ['object'] }],
  ['leases.acquireAll', 'resources', (value) => leases.acquireAll(value), { kinds: [], wrong: ['r'] }],
  ['leases.withLease', 'work', (value) => leases.withLease('r', value), func],
  ['leases.lead', 'work', (value) => leases.lead('r', value), func],
  ['leases.inspect', 'resource', (value) => leases.inspect(value), text],
  ['leases.holders', 'resource', (value) => leases.holders(value), text],
  ['leases.waiting', 'resource', (value) => leases.waiting(value), text],
  ['leases.release', 'token', (value) => leases.release('r', value), nothing],
  ['leases.adopt', 'ticket', (value) => leases.adopt(value), nothing],
  ['leases.list', 'options', (value) => leases.list(value), { kinds: ['object'] }],
  ['leases.watch', 'options', (value) => leases.watch(value, () => {}), { kinds: ['object'] }],
  ['leases.watch', 'listener', (value) => leases.watch({}, value), func],
  ['leases.subscribe', 'listener', (value) => leases.subscribe(value), func],
  ['createLockManager', 'store', (value) => createLockManager(value), nothing],
]

describe('a positional argument of the wrong kind is refused with its name', () => {
  const rows = POSITIONAL.flatMap(([name, argument, call, taken]) =>
    wrongValues(taken).map((value) => [name, argument, show(value), call, value] as const),
  )
  it.each(rows)('%s: %s %s', async (_, argument, __, call, value) => {
    await expectRefused(argument, () => call(value as never))
  })
})

it('a guard refuses what is not a lease', () => {
  for (const lease of [null, undefined, 5, 'r', {}, { resource: 'r', token: 'x' }])
    expect(() => memoryGuard().check(lease as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    )
})

it('a cluster of MySQL pools is refused, because its nodes share no leases', () => {
  const cluster = createPoolCluster()
  for (const client of [cluster, cluster.of('*')])
    expect(() => mysqlStore(client as never)).toThrow('a PoolCluster has several servers')
  cluster.end()
})
