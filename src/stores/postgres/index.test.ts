import pg from 'pg'
import postgres from 'postgres'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CALL_TIMEOUT_MS } from '../../base/options.ts'
import { createLeases } from '../../core/index.ts'
import { createOnce, postgresJobs } from '../../once/index.ts'
import { migratePostgres, postgresStore } from './index.ts'
import type { PostgresStoreOptions } from './options.ts'

const NOWHERE = 'postgres://mika:secret@127.0.0.1:1/none'
const SECRET = /secret/

class Foreign {
  query() {}
  connect() {}
}

/** The message of the error with the code `invalid-argument` that the call throws. */
async function refusal(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    expect(error).toMatchObject({ name: 'LeaseError', code: 'invalid-argument' })
    return (error as Error).message
  }
  throw new Error('nothing was thrown')
}

describe('the client of a Postgres store', () => {
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object', {}, 'an object'],
    ['an object without prototype', Object.create(null), 'an object'],
    ['a BigInt', 10n, '10n'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    ['an address', NOWHERE, 'a string'],
    ['a function', () => {}, 'a function'],
    ['a client of something else', new Foreign(), 'a Foreign'],
    ['the module', pg, 'a PG'],
  ])('is not %s', async (_, client, received) => {
    for (const call of [() => postgresStore(client as never), () => migratePostgres(client as never)]) {
      const message = await refusal(call)
      expect(message).toBe(`client: expected a Pool or Client of pg, or the sql of postgres, got ${received}`)
      expect(message).not.toMatch(SECRET)
    }
  })

  it('the client of a Postgres store may take as long to answer as the caller waits', async () => {
    const limits: unknown[] = []
    const pool = new pg.Pool({ connectionString: NOWHERE })
    pool.query = (async ({ query_timeout }: { query_timeout: number }) => {
      limits.push(query_timeout)
      throw Object.assign(new Error('no server'), { code: 'ECONNREFUSED' })
    }) as never
    const store = postgresStore(pool)
    await expect(store.read(['r'])).rejects.toMatchObject({ code: 'store-unavailable' })
    await expect(createLeases(store, { callTimeout: '20s' }).tryAcquire('r')).rejects.toThrow('no server')
    await expect(createOnce(postgresJobs(pool), { callTimeout: '40s' }).run('r', () => 1)).rejects.toThrow()
    expect([...new Set(limits)]).toEqual([5000, 20_000, 40_000])
    await store.close()
  })

  it('the client of a Postgres store has to be connected if it is a Client', async () => {
    const unconnected = new pg.Client(NOWHERE)
    const failed = new pg.Client(NOWHERE)
    await expect(failed.connect()).rejects.toThrow()
    for (const client of [unconnected, failed]) {
      const store = postgresStore(client)
      const calls = [() => store.read(['r']), () => store.sweep({ limit: 1 }), () => migratePostgres(client)]
      for (const call of calls)
        await expect(call()).rejects.toMatchObject({
          code: 'store-failed',
          message: expect.stringContaining('not connected: call its connect() first'),
        })
      await store.close()
    }
  })

  it('the client of a Postgres store may be connecting still', async () => {
    const client = new pg.Client(NOWHERE)
    const store = postgresStore(client)
    const connecting = expect(client.connect()).rejects.toThrow()
    await expect(store.read(['r'])).rejects.toMatchObject({ code: 'store-unavailable' })
    await connecting
    await store.close()
  })
})

describe('an option of a Postgres store', () => {
  const pool = new pg.Pool({ connectionString: NOWHERE })
  const store = (options: unknown) => () => postgresStore(pool, options as PostgresStoreOptions)

  it.each<[string, unknown, string]>([
    ['options', null, 'options: expected an object, got null'],
    ['options', NOWHERE, 'options: expected an object, got a string'],
    ['migrate', { migrate: 'no' }, 'migrate: expected true or false, got "no"'],
    ['migrate', { migrate: 0n }, 'migrate: expected true or false, got 0n'],
    ['table', { table: '' }, 'table: expected a name of 1 to 54 bytes, got ""'],
    ['table', { table: 'x'.repeat(55) }, 'table: expected a name of 1 to 54 bytes, got "xxx'],
    ['table', { table: 'nul\0' }, 'table: expected a name of 1 to 54 bytes, got "nul\\u0000"'],
    ['table', { table: '\ud800' }, 'table: expected a name of 1 to 54 bytes'],
    ['table', { table: 10n }, 'table: expected a name of 1 to 54 bytes, got 10n'],
    ['schema', { schema: '界'.repeat(22) }, 'schema: expected a name of 1 to 63 bytes'],
    ['schema', { schema: null }, 'schema: expected a name of 1 to 63 bytes, got null'],
    ['schema', { schema: Symbol('x') }, 'schema: expected a name of 1 to 63 bytes, got Symbol(x)'],
    ['listen', { listen: null }, 'listen: expected a client of pg or postgres, or a connection conf'],
    ['listen', { listen: 10n }, 'listen: expected a client of pg or postgres, or a connection conf'],
    ['listen', { listen: '' }, 'listen: expected a client of pg or postgres, or a connection conf'],
    ['listen', { listen: [NOWHERE] }, 'listen: expected a client of pg or postgres, or a connection conf'],
    ['listen', { listen: () => {} }, 'listen: expected a client of pg or postgres, or a connection conf'],
    [
      'listen',
      { listen: new Foreign() },
      'listen: expected a client of pg or postgres, or a connection conf',
    ],
  ])('is checked: %s (%#)', async (_, options, message) => {
    const shown = await refusal(store(options))
    expect(shown).toContain(message)
    expect(shown).not.toMatch(SECRET)
  })

  it.each([
    ['an address', NOWHERE, 'a string'],
    ['a configuration', { connectionString: NOWHERE }, 'an object'],
  ])('listen cannot be %s for the sql of postgres', async (_, listen, received) => {
    const message = await refusal(() => postgresStore(postgres(NOWHERE), { listen }))
    expect(message).toBe(
      `listen: expected another sql, because the client is the sql of postgres, got ${received}`,
    )
  })

  it('an option of a Postgres store is checked by migratePostgres as well', async () => {
    expect(await refusal(() => migratePostgres(pool, { table: '' }))).toContain('table: expected a name')
    expect(await refusal(() => migratePostgres(pool, null as never))).toContain('options: expected an object')
  })
})

describe('a call whose caller has gone', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('a call whose caller has gone of watch ends what it has begun', async () => {
    vi.useFakeTimers()
    const { sql, server, connect } = slowListener()
    const store = postgresStore(sql)
    const watch = expect(store.watch(() => {})).rejects.toMatchObject({ code: 'store-unavailable' })
    await vi.advanceTimersByTimeAsync(CALL_TIMEOUT_MS)
    await watch
    connect()
    await vi.advanceTimersByTimeAsync(100)
    expect(server).toMatchObject({ watches: 1, listened: ['changes'], unlistened: ['changes'] })
    await store.close()
  })

  it('a call whose caller has gone of acquire sends no second request', async () => {
    vi.useFakeTimers()
    const { sql, server, connect } = slowListener()
    const store = postgresStore(sql)
    const controller = new AbortController()
    const ask = { resource: 'r', id: 'a', owner: 'Mika', ttl: 1000, wake: () => {} }
    const call = expect(store.acquire(ask, controller)).rejects.toMatchObject({ code: 'aborted' })
    await vi.advanceTimersByTimeAsync(100)
    controller.abort()
    await call
    connect()
    await vi.advanceTimersByTimeAsync(1000)
    expect(server.requests).toBe(1)
    await store.close()
  })
})

/** The `sql` of a server on which everything is held, and whose listening connection opens when the test says so. */
function slowListener() {
  const server = { requests: 0, watches: 0, listened: [] as string[], unlistened: [] as string[] }
  const { promise: connected, resolve: connect } = Promise.withResolvers<void>()
  const notified = new Map<string, (payload: string) => void>()
  const answer = (text: string, values: readonly unknown[]): unknown => {
    if (text.includes('missing')) return []
    if (text.includes('version')) return 2
    if (text.includes('_acquire"(')) {
      server.requests++
      return { granted: false, holders: [], place: 0, retryIn: null }
    }
    if (text.includes('_probe"(')) notified.get(String(values[0]))?.(String(values[1]))
    if (text.includes('_watch"(')) server.watches++
    return text.includes('_watch"(') ? { channel: 'changes', lapsed: false } : 5
  }
  const sql = Object.assign(() => {}, {
    unsafe: async (text: string, values: readonly unknown[] = []) => [
      { answer: JSON.stringify(answer(text, values)) },
    ],
    async listen(channel: string, listener: (payload: string) => void) {
      await connected
      notified.set(channel, listener)
      if (channel === 'changes') server.listened.push(channel)
      const unlisten = async () => {
        if (channel === 'changes') server.unlistened.push(channel)
      }
      return { state: { pid: 7 }, unlisten }
    },
  })
  return { sql, server, connect }
}
