import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2'
import { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { createAutoSave } from '../autosave/index.ts'
import { httpStore } from '../client/http-store.ts'
import { createDocumentLock, createDraft } from '../client/index.ts'
import { createLeases } from '../core/index.ts'
import { guardTable } from '../guard/index.ts'
import { idempotent, idempotentFetch } from '../idempotency/index.ts'
import { createOnce, createTaskHandler, memoryJobs } from '../once/index.ts'
import { createProjectLocks } from '../project/index.ts'
import { createServer } from '../server/node/index.ts'
import { etcdStore } from '../stores/etcd/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { mysqlStore } from '../stores/mysql/index.ts'
import { postgresStore } from '../stores/postgres/index.ts'
import { redisStore } from '../stores/redis/index.ts'
import { sqliteStore } from '../stores/sqlite/index.ts'
import { createSync, memoryStorage } from '../sync/index.ts'
import { httpSink } from '../telemetry/index.ts'
import { chaosStore } from '../testing/index.ts'
import { misspelt, nearest } from './suggest.ts'

const leases = createLeases(memoryStore())
const once = createOnce(memoryJobs())

/** The hint that an option with this name gets. */
const calls = {
  acquire: (options: object) => leases.acquire('resource', options),
  withLease: (options: object) => leases.withLease('resource', () => {}, options),
  tryAcquire: (options: object) => leases.tryAcquire('resource', options),
  lead: (options: object) => leases.lead('resource', () => {}, options),
  createLeases: async (options: object) => createLeases(memoryStore(), options),
  postgresStore: async (options: object) => postgresStore(new Pool(), options),
  'once.run': (options: object) => once.run('job', () => {}, options),
  'once.wait': (options: object) => once.wait('job', options),
  'once.result': (options: object) => once.result('job', () => {}, options),
  createOnce: async (options: object) => createOnce(memoryJobs(), options),
  createTaskHandler: async (options: object) => createTaskHandler(once, options as never),
  idempotent: async (options: object) => idempotent(() => new Response(), options as never),
  list: (options: object) => leases.list(options),
  mysqlStore: async (options: object) => mysqlStore(createPool({}), options),
  etcdStore: async (options: object) => etcdStore(new Etcd3({ hosts: 'http://127.0.0.1:1' }), options),
  idempotentFetch: async (options: object) => idempotentFetch(options),
  redisStore: async (options: object) => redisStore(new Redis({ lazyConnect: true }), options),
  guardTable: async (options: object) => guardTable(options),
  createServer: (options: object) => createServer({ store: memoryStore(), ...options }),
  settings: (settings: object) => createServer({ store: memoryStore(), settings }),
  createDocumentLock: async (options: object) => createDocumentLock('room', options),
  createDraft: async (options: object) => {
    const lock = createDocumentLock('room', { url: 'http://localhost' })
    try {
      createDraft(lock, options)
    } finally {
      await lock.close()
    }
  },
  sqliteStore: async (options: object) => sqliteStore(':memory:', options),
  httpStore: async (options: object) => httpStore('http://localhost', options),
  createAutoSave: async (options: object) => createAutoSave({ read: () => 1, namespace: 'x', ...options }),
  createSync: async (options: object) => createSync({ storage: memoryStorage(), ...options } as never),
  createProjectLocks: async (options: object) => createProjectLocks({ namespace: 'x', ...options }),
  httpSink: async (options: object) => httpSink('http://localhost', options),
  chaosStore: async (options: object) => chaosStore(memoryStore(), options),
}

describe('an unknown option is answered with the name that was meant', () => {
  it.each([
    ['acquire', 'tll', 'ttl'],
    ['acquire', 'TTL', 'ttl'],
    ['acquire', 'ttlMs', 'ttl'],
    ['acquire', 'ttlSeconds', 'ttl'],
    ['acquire', 'expiry', 'ttl'],
    ['acquire', 'expires', 'ttl'],
    ['acquire', 'expiresIn', 'ttl'],
    ['acquire', 'expiresAfterSeconds', 'ttl'],
    ['acquire', 'duration', 'ttl'],
    ['acquire', 'leaseTime', 'ttl'],
    ['acquire', 'leaseDuration', 'ttl'],
    ['acquire', 'lockTimeout', 'ttl'],
    ['acquire', 'lockAtMostFor', 'ttl'],
    ['acquire', 'maxAge', 'ttl'],
    ['acquire', 'px', 'ttl'],
    ['acquire', 'timeToLive', 'ttl'],
    ['acquire', 'time_to_live_ms', 'ttl'],
    ['acquire', 'leaseTimeInSeconds', 'ttl'],
    ['acquire', 'fencingToken', 'lease.token'],
    ['acquire', 'fencing_token', 'lease.token'],
    ['acquire', 'leaseTimeout', 'ttl'],
    ['acquire', 'tryOnce', 'tryAcquire'],
    ['createAutoSave', 'onSave', 'onEvent'],
    ['createAutoSave', 'maxSize', 'maxBytes'],
    ['createDraft', 'debounce', 'saveAfter'],
    ['createDraft', 'onChange', 'draft.subscribe'],
    ['createServer', 'onError', 'log'],
    ['acquire', 'timeout', 'wait'],
    ['acquire', 'acquireTimeout', 'wait'],
    ['acquire', 'timeoutMs', 'wait'],
    ['acquire', 'waitTime', 'wait'],
    ['acquire', 'maxWait', 'wait'],
    ['acquire', 'waits', 'wait'],
    ['acquire', 'limit', 'share'],
    ['acquire', 'permits', 'share'],
    ['acquire', 'maxConcurrency', 'share'],
    ['acquire', 'slots', 'share'],
    ['acquire', 'shared', 'share'],
    ['acquire', 'abortSignal', 'signal'],
    ['acquire', 'abort', 'signal'],
    ['acquire', 'cancelToken', 'signal'],
    ['acquire', 'singal', 'signal'],
    ['acquire', 'ifAvailable', 'tryAcquire'],
    ['acquire', 'nonBlocking', 'tryAcquire'],
    ['acquire', 'retries', 'retry'],
    ['acquire', 'retryCount', 'wait'],
    ['acquire', 'retryDelay', 'wait'],
    ['withLease', 'retryJitter', 'wait'],
    ['acquire', 'acquireAttemptsLimit', 'wait'],
    ['createLeases', 'retryCount', 'wait'],
    ['once.result', 'retryCount', 'maxAttempts'],
    ['acquire', 'backoff', 'retry'],
    ['acquire', 'heartBeat', 'heartbeat'],
    ['acquire', 'hearbeat', 'heartbeat'],
    ['acquire', 'heartbeatInterval', 'heartbeat'],
    ['acquire', 'refreshInterval', 'heartbeat'],
    ['acquire', 'autoRenew', 'heartbeat'],
    ['acquire', 'keepAlive', 'heartbeat'],
    ['acquire', 'automaticExtensionThreshold', 'heartbeat'],
    ['acquire', 'identifier', 'owner'],
    ['acquire', 'clientId', 'owner'],
    ['acquire', 'ownerId', 'owner'],
    ['acquire', 'lockedBy', 'owner'],
    ['acquire', 'meta', 'metadata'],
    ['acquire', 'payload', 'metadata'],
    ['acquire', 'lockAtLeastFor', 'atLeast'],
    ['acquire', 'minHold', 'atLeast'],
    ['withLease', 'timeout', 'wait'],
    ['withLease', 'leaseTtl', 'ttl'],
    ['tryAcquire', 'abortSignal', 'signal'],
    ['createLeases', 'requestTimeout', 'callTimeout'],
    ['createLeases', 'timeout', 'wait'],
    ['createLeases', 'logger', 'onEvent'],
    ['createLeases', 'onLeaseEvent', 'onEvent'],
    ['createLeases', 'timers', 'clock'],
    ['postgresStore', 'tabel', 'table'],
    ['postgresStore', 'tableName', 'table'],
    ['postgresStore', 'schemaName', 'schema'],
    ['postgresStore', 'autoMigrate', 'migrate'],
    ['once.run', 'attempts', 'maxAttempts'],
    ['once.run', 'maxRetries', 'maxAttempts'],
    ['once.run', 'expiration', 'ttl'],
    ['acquire', 'leaseMs', 'ttl'],
    ['acquire', 'maxWaitMs', 'wait'],
    ['acquire', 'blockingTimeout', 'wait'],
    ['acquire', 'readOnly', 'mode'],
    ['acquire', 'exclusive', 'mode'],
    ['acquire', 'extendEvery', 'heartbeat'],
    ['acquire', 'tags', 'metadata'],
    ['acquire', 'onLost', 'lease.onLost'],
    ['acquire', 'onLockLost', 'lease.onLost'],
    ['createLeases', 'onLockLost', 'lease.onLost'],
    ['acquire', 'steal', 'release'],
    ['createLeases', 'shutdownTimeout', 'closeTimeout'],
    ['createLeases', 'gracePeriod', 'closeTimeout'],
    ['createLeases', 'defaultTtl', 'ttl'],
    ['createLeases', 'instanceId', 'owner'],
    ['list', 'pageSize', 'limit'],
    ['list', 'cursor', 'after'],
    ['list', 'next', 'after'],
    ['list', 'startsWith', 'prefix'],
    ['redisStore', 'keyPrefix', 'prefix'],
    ['redisStore', 'namespace', 'prefix'],
    ['redisStore', 'subscriber', 'listen'],
    ['guardTable', 'name', 'table'],
    ['once.run', 'upsert', 'add'],
    ['once.result', 'input', 'payload'],
    ['once.result', 'cacheFor', 'keep'],
    ['createOnce', 'leaseTime', 'ttl'],
    ['createOnce', 'timeout', 'callTimeout'],
    ['createOnce', 'retries', 'maxAttempts'],
    ['createTaskHandler', 'handler', 'work'],
    ['createTaskHandler', 'auth', 'authorize'],
    ['createTaskHandler', 'retryDelay', 'retryAfter'],
    ['idempotent', 'user', 'principal'],
    ['idempotent', 'store', 'jobs'],
    ['idempotent', 'retention', 'keep'],
    ['createServer', 'port', 'settings'],
    ['createServer', 'cors', 'settings'],
    ['createServer', 'authenticate', 'identify'],
    ['createDocumentLock', 'user', 'name'],
    ['createDocumentLock', 'token', 'headers'],
    ['createDocumentLock', 'baseUrl', 'url'],
    ['httpStore', 'authorization', 'token'],
    ['createAutoSave', 'delay', 'debounce'],
    ['createAutoSave', 'history', 'generations'],
    ['createAutoSave', 'key', 'namespace'],
    ['createSync', 'initial', 'defaults'],
    ['createSync', 'channel', 'messenger'],
    ['createSync', 'area', 'storage'],
    ['chaosStore', 'latency', 'faults'],
    ['acquire', 'deadline', 'wait'],
    ['acquire', 'type', 'mode'],
    ['acquire', 'label', 'metadata'],
    ['acquire', 'onExpire', 'lease.onLost'],
    ['tryAcquire', 'onLost', 'lease.onLost'],
    ['createLeases', 'defaultTTL', 'ttl'],
    ['list', 'max', 'limit'],
    ['once.wait', 'timeoutMs', 'wait'],
    ['createServer', 'auditLog', 'audit'],
    ['createServer', 'logger', 'log'],
    ['createServer', 'pubsub', 'bus'],
    ['createServer', 'contents', 'documents'],
    ['createServer', 'adminToken', 'settings'],
    ['createServer', 'secret', 'settings'],
    ['createServer', 'middleware', 'nodeListener'],
    ['createDocumentLock', 'endpoint', 'url'],
    ['createDocumentLock', 'baseURL', 'url'],
    ['createDocumentLock', 'idleTimeout', 'idleAfter'],
    ['createDocumentLock', 'onChange', 'lock.subscribe'],
    ['createDocumentLock', 'autoAcquire', 'lock.acquire'],
    ['createAutoSave', 'getContent', 'read'],
    ['createAutoSave', 'storageKey', 'namespace'],
    ['createAutoSave', 'path', 'directory'],
    ['createSync', 'adapter', 'storage'],
    ['createSync', 'migration', 'schema'],
    ['createSync', 'onChange', 'sync.subscribe'],
    ['createProjectLocks', 'staleAfter', 'takeoverAfter'],
    ['httpSink', 'timeOutMs', 'timeout'],
    ['acquire', 'leaseLength', 'ttl'],
    ['acquire', 'minLeaseTime', 'atLeast'],
    ['acquire', 'maxBlockTime', 'wait'],
    ['acquire', 'permitCount', 'share'],
    ['acquire', 'giveUpAfter', 'wait'],
    ['acquire', 'queueTimeout', 'wait'],
    ['acquire', 'validity', 'ttl'],
    ['acquire', 'holdFor', 'ttl'],
    ['acquire', 'maxHold', 'ttl'],
    ['acquire', 'watchdogTimeout', 'heartbeat'],
    ['acquire', 'pingInterval', 'heartbeat'],
    ['acquire', 'parallelism', 'share'],
    ['acquire', 'n', 'share'],
    ['acquire', 'ac', 'signal'],
    ['acquire', 'context', 'metadata'],
    ['acquire', 'description', 'metadata'],
    ['acquire', 'hostname', 'owner'],
    ['acquire', 'process', 'owner'],
    ['acquire', 'minDuration', 'atLeast'],
    ['acquire', 'attempts', 'retry'],
    ['acquire', 'lockMode', 'mode'],
    ['acquire', 'onRenew', 'leases.subscribe'],
    ['withLease', 'skipIfLocked', 'tryWithLease'],
    ['withLease', 'ifFree', 'tryWithLease'],
    ['withLease', 'try', 'tryAcquire'],
    ['createLeases', 'debug', 'onEvent'],
    ['list', 'resource', 'prefix'],
    ['postgresStore', 'createTables', 'migrate'],
    ['sqliteStore', 'fsync', 'synchronous'],
    ['once.run', 'maxRetry', 'maxAttempts'],
    ['once.result', 'cacheTtl', 'keep'],
    ['once.result', 'hash', 'payload'],
    ['once.result', 'cacheErrors', 'failures'],
    ['createTaskHandler', 'route', 'path'],
    ['createTaskHandler', 'getId', 'idOf'],
    ['createTaskHandler', 'status', 'lockedStatus'],
    ['createServer', 'contentStore', 'documents'],
    ['createServer', 'heartbeat', 'settings'],
    ['createDocumentLock', 'tabId', 'clientId'],
    ['createDocumentLock', 'onLost', 'lock.subscribe'],
    ['createDocumentLock', 'wait', 'lock.acquire'],
    ['createDraft', 'persist', 'keep'],
    ['createDraft', 'serialize', 'codec'],
    ['createDraft', 'autosave', 'saveAfter'],
    ['createAutoSave', 'maxTotalBytes', 'maxBytes'],
    ['createSync', 'validators', 'validate'],
    ['mysqlStore', 'pollInterval', 'poll'],
    ['mysqlStore', 'schema', 'database'],
    ['etcdStore', 'root', 'prefix'],
    ['idempotentFetch', 'retries', 'tries'],
  ] as const)('%s({ %s }) → %s', async (call, name, meant) => {
    await expect(calls[call]({ [name]: 1 })).rejects.toThrow(
      `\`${name}\`: unknown option, did you mean \`${meant}\`?`,
    )
  })

  it.each([
    ['createLeases', 'keyPrefix', '`prefix` of the store'],
    ['createLeases', 'redis', 'the first argument'],
    ['redisStore', 'ttl', 'an option of `createLeases`'],
    ['redisStore', 'url', 'the first argument'],
    ['postgresStore', 'connectionString', 'the first argument'],
    ['tryAcquire', 'timeout', '`wait` of `acquire`'],
    ['lead', 'wait', '`wait` of `acquire`'],
    ['acquire', 'key', 'the first argument'],
    ['createDocumentLock', 'room', 'the first argument'],
    ['once.run', 'idempotencyKey', 'the first argument'],
    ['sqliteStore', 'path', 'the first argument'],
    ['createDocumentLock', 'ttl', '`ttl` in the settings of the server'],
    ['createDocumentLock', 'heartbeatInterval', '`heartbeat` in the settings of the server'],
  ] as const)('%s({ %s }) → %s, which is no option of this call', async (call, name, meant) => {
    await expect(calls[call]({ [name]: 1 })).rejects.toThrow(
      `\`${name}\`: unknown option, did you mean ${meant}?`,
    )
  })

  it('a former name of an option is not listed', async () => {
    await expect(calls['once.wait']({ colour: 1 })).rejects.toThrow(/expected one of wait, signal$/)
  })

  it.each([
    ['cors', 'origins'],
    ['hostname', 'host'],
    ['lockTtl', 'ttl'],
    ['adminToken', 'adminTokens'],
    ['secret', 'cookieSecrets'],
    ['tlsCertificate', 'tlsCert'],
    ['bodyLimit', 'maxBody'],
    ['maxBodySize', 'maxBody'],
    ['maxConnections', 'maxSockets'],
    ['tlsKeyFile', 'tlsKey'],
    ['behindProxy', 'trustProxy'],
    ['maxPayload', 'maxBody'],
  ])('a setting of the server: %s → %s', async (name, meant) => {
    await expect(calls.settings({ [name]: 1 })).rejects.toThrow(
      `\`${name}\` (settings): unknown setting, did you mean \`${meant}\`?`,
    )
  })

  it.each(['priority', 'title', 'color', 'x', ''])(
    '%j is like none, so all names are listed',
    async (name) => {
      await expect(calls.acquire({ [name]: 1 })).rejects.toThrow(
        /unknown option, expected one of .*\bttl\b.*\bwait\b/,
      )
    },
  )
})

describe('a wrong argument is answered with the mistake that it suggests', () => {
  const work = () => {}
  it.each([
    [
      'swapped arguments',
      () => leases.withLease('a', { ttl: 1000 } as never, work as never),
      '; the options come last',
    ],
    ['options in place of the name', () => leases.acquire({ ttl: 1000 } as never), '; the options come last'],
    ['several names', () => leases.acquire(['a', 'b'] as never), '; acquireAll takes several names'],
    [
      'the arguments of redlock',
      () => leases.acquire(['a'] as never, 5000 as never),
      '; write a time as an option, such as { ttl: 5000 }',
    ],
    [
      'the arguments of `using` of redlock',
      () => leases.withLease(['a'] as never, 5000 as never, work as never),
      '; write a time as an option, such as { ttl: 5000 }',
    ],
    [
      'a time in place of the options',
      () => leases.acquire('a', '30s' as never),
      "; write a time as an option, such as { ttl: '30s' }",
    ],
  ])('%s', async (_, call, hint) => {
    await expect(call()).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(new RegExp(`${hint.replace(/[{}]/g, '\\$&')}$`)),
    })
  })
})

it('an argument that cannot be options is not said to be in the wrong place', async () => {
  const working = leases.withLease('a', Promise.resolve() as never)
  await expect(working).rejects.toThrow(/^work: expected a function, got a Promise$/)
})

describe('a name that is misspelt by one letter', () => {
  const known = ['HOLDFAST_STORE', 'HOLDFAST_HOST', 'HOLDFAST_HOSTS', 'HOLDFAST_MAX_WAIT']

  it.each([
    ['HOLDFAST_STROE', 'HOLDFAST_STORE'],
    ['HOLDFAST_STOR', 'HOLDFAST_STORE'],
    ['HOLDFAST_STORES', 'HOLDFAST_STORE'],
    ['HOLDFAST_STARE', 'HOLDFAST_STORE'],
    ['HOLFDAST_STORE', 'HOLDFAST_STORE'],
    ['OLDFAST_STORE', 'HOLDFAST_STORE'],
    ['HOLDFAST_MAXWAIT', 'HOLDFAST_MAX_WAIT'],
    ['HOLDFAST_HOST', undefined],
    ['HOLDFAST_HOSTS', undefined],
    ['HOLDFAST_TEST_STORE', undefined],
    ['HOLDFAST_RESTO', undefined],
    ['HOLDFAST_', undefined],
    ['', undefined],
  ])('a name that is misspelt by one letter is recognised: %s', (name, meant) => {
    expect(misspelt(name, known)).toBe(meant)
  })
})

it('a text of 75 000 characters is no misspelt name', () => {
  expect(nearest('ttl'.repeat(25_000), ['ttl', 'heartbeat'])).toBeUndefined()
})

it('a misspelt name has at most 100 characters', () => {
  const [name, longer] = ['x'.repeat(100), 'x'.repeat(101)]
  expect(nearest(`${name.slice(1)}y`, [name])).toBe(name)
  expect(nearest(`${longer.slice(1)}y`, [longer])).toBeUndefined()
})
