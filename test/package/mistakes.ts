/** Mistakes that people make, each as the code that they write. `docs/errors.md` shows the same code and messages. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Firestore } from '@google-cloud/firestore'
import { Redis as IoRedis } from 'ioredis'
import { Pool } from 'pg'
import { vi } from 'vitest'
import { createAutoSave } from '../../src/autosave/index.ts'
import { messageOf } from '../../src/base/errors.ts'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { httpStore } from '../../src/client/http-store.ts'
import { createDocumentLock } from '../../src/client/index.ts'
import { createLeases } from '../../src/core/index.ts'
import { memoryGuard, redisGuard } from '../../src/guard/index.ts'
import { createOnce, createTaskHandler, memoryJobs } from '../../src/once/index.ts'
import { createProjectLocks } from '../../src/project/index.ts'
import { createServer } from '../../src/server/node/index.ts'
import { fileStore } from '../../src/stores/file/index.ts'
import { firestoreStore } from '../../src/stores/firestore/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { natsStore } from '../../src/stores/nats/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { createSync, memoryStorage } from '../../src/sync/index.ts'
import { createCollector, makeThresholds } from '../../src/telemetry/index.ts'

export const MISTAKES: Readonly<Record<string, readonly string[]>> = {
  Leases: [
    'createLeases(new Redis())',
    'createLeases(new Pool())',
    'createLeases(new Firestore())',
    "createLeases('redis://localhost')",
    'createLeases(memoryStore)',
    "createLeases(store, { tll: '30s' })",
    "createLeases(store, { timeout: '5s' })",
    "createLeases(store, { ttl: '30 seconds' })",
    "createLeases(store, { ttl: '30s', heartbeat: '30s' })",
    "leases.acquire('')",
    "leases.acquire('report', { ttl: 5 })",
    "leases.acquire('report', { owner: '' })",
    "leases.acquire('report', { signal: new AbortController() })",
    "leases.acquire('report', { metadata: 'nightly' })",
    "leases.acquire('report', { share: 0 })",
    "leases.tryAcquire('report', { wait: '5s' })",
    "leases.withLease('report')",
    "leases.withLease('report', () => leases.acquire('report', { wait: 0 }))",
    'leases.list({ limit: 0 })',
    'leases.watch(() => {})',
  ],
  Stores: [
    "redisStore('redis://localhost')",
    "redisStore(new Redis(), { prefx: 'app' })",
    "postgresStore('postgres://localhost/app')",
    "postgresStore(new Pool(), { tabel: 'leases' })",
    'sqliteStore()',
    "sqliteStore('./holdfast.db', { synchronous: 'off' })",
    'fileStore()',
    'natsStore({ servers: "localhost:4222" })',
    "firestoreStore(new Firestore(), { collection: 'a/b' })",
    "httpStore('localhost:4321')",
    "httpStore('https://user:password@locks.example.com')",
  ],
  'Run once, guard': [
    'createOnce(memoryStore())',
    'createOnce(new Pool())',
    "once.run('invoice-42')",
    "once.run('unknown', work)",
    "once.run('invoice-42', work, { heartbeet: '10s' })",
    'createTaskHandler(once, {})',
    "memoryGuard().check('invoice:42')",
    "redisGuard('redis://localhost', 'balance')",
  ],
  'The server and its client': [
    'createServer({})',
    "createServer({ store, settings: { ttl: '2h' } })",
    "createServer({ store, settings: { orgins: ['https://app.example.com'] } })",
    'createServer({ store, settings: { port: 4321 } }) // another program listens there',
    'createDocumentLock()',
    "createDocumentLock('minutes-42', { url: 'localhost:4321' })",
    "createDocumentLock('minutes-42', { url: 'http://localhost', wait: '5s' })",
  ],
  'Project lock, AutoSave, sync, telemetry': [
    "createProjectLocks({ namspace: 'app' })",
    "locks.acquireProjectLock({ scope: 'auto' })",
    'createAutoSave({ locks })',
    'createSync({})',
    "createSync({ storage, ackTimeout: '1s' })",
    "sync.setEntity('', { checked: true })",
    'createCollector({})',
    "makeThresholds({ rules: { wait_p95: { above: '2s' } } })",
  ],
  'The command line': [
    'holdfast rnu backup -- ./backup.sh',
    'holdfast run backup --ttl 5 -- ./backup.sh',
    'holdfast run backup --tll 5s -- ./backup.sh',
    'holdfast run backup ./backup.sh',
    'holdfast ls --store mongodb://localhost',
    'holdfast ls --limit none',
  ],
}

/** One that connects to nothing. */
class Redis extends IoRedis {
  constructor() {
    super({ lazyConnect: true })
  }
}

const store = memoryStore()
const storage = memoryStorage()
/** What the code above may name. */
const SCOPE = {
  AbortController,
  Firestore,
  Pool,
  Redis,
  createAutoSave,
  createCollector,
  createDocumentLock,
  createLeases,
  createOnce,
  createProjectLocks,
  createServer,
  createSync,
  createTaskHandler,
  fileStore,
  firestoreStore,
  httpStore,
  leases: createLeases(store),
  locks: createProjectLocks({ namespace: 'app' }),
  makeThresholds,
  memoryGuard,
  memoryStore,
  natsStore,
  once: createOnce(memoryJobs()),
  postgresStore,
  redisGuard,
  redisStore,
  sqliteStore,
  storage,
  store,
  sync: createSync({ storage }),
  work: async () => {},
}

/** The message that somebody sees who writes this. */
export async function messageFor(code: string): Promise<string> {
  const message = code.startsWith('holdfast ') ? await printed(code) : await thrown(code)
  return message.replace(/since [\d:]{8}/, 'since 12:04:10')
}

async function thrown(code: string): Promise<string> {
  // The server logs its start.
  vi.spyOn(console, 'log').mockImplementation(() => {})
  await using busy = await listen()
  const names = Object.keys(SCOPE)
  const run = new Function(...names, `return ${code.replace('4321', String(busy.port))}`)
  try {
    await run(...Object.values(SCOPE))
  } catch (error) {
    return messageOf(error).replaceAll(String(busy.port), '4321')
  }
  throw new Error(`not refused: ${code}`)
}

/** Something else that listens on a port. */
async function listen(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createHttpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, [Symbol.asyncDispose]: async () => void server.close() }
}

async function printed(code: string): Promise<string> {
  let output = ''
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    output += text
    return true
  })
  const [, ...args] = code.split(' ')
  await runCommandLine(args)
  write.mockRestore()
  return output.trim()
}
