/**
 * The functions in the database are `lease-row.ts` written a second time. For any sequence of operations and any
 * steps of the clock, both must give the same answers, report the same changes and wake the same waiters.
 */
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresDatabase } from '../../../src/clients/postgres.ts'
import type { Ask } from '../../../src/core/index.ts'
import {
  ask,
  Effects,
  expire,
  type LeaseRow,
  newRow,
  release,
  renew,
  shownRecords,
  waitingIn,
} from '../../../src/stores/lease-row.ts'
import { migratePostgres } from '../../../src/stores/postgres/index.ts'
import { namesOf } from '../../../src/stores/postgres/names.ts'
import { Queries, withShare } from '../../../src/stores/postgres/queries.ts'
import { checkProperty } from '../../property.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const SCHEMA = `model_${process.pid}`
const TABLE = `${SCHEMA}.holdfast_leases`
const START_MS = 1_800_000_000_000
/** The channel of each asker. */
const CHANNELS = ['one', 'one', 'two', 'three', 'four']
const { MODEL_RUNS = '40' } = process.env
const RUNS = Number(MODEL_RUNS)

const asker = fc.nat(CHANNELS.length - 1)
const ttl = fc.constantFrom(10, 1500, 60_000)
const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('ask' as const),
      asker,
      ttl,
      waits: fc.boolean(),
      takesOver: fc.nat(9),
      share: fc.constantFrom(undefined, undefined, 1, 2, 3, Infinity),
      atLeast: fc.constantFrom(undefined, undefined, undefined, 800, 5000),
      lockDelay: fc.constantFrom(undefined, undefined, undefined, 700, 3000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('ask' as const),
      asker,
      ttl,
      waits: fc.boolean(),
      takesOver: fc.nat(9),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('release' as const), asker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('renew' as const), asker, ttl }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('force' as const), back: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('sweep' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 500, 1001, -400, -3_600_000),
    }),
  },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

let client: pg.Client
let queries: Queries
/** The pid and the start of the server process that listens. */
let connection: string
beforeAll(async () => {
  client = new pg.Client({ connectionString: url, options: `-c search_path=${SCHEMA},pg_catalog` })
  await client.connect()
  await client.query(`create schema ${SCHEMA};
    select set_config('model.ms', '${START_MS}', false);
    create function ${SCHEMA}.clock_timestamp() returns timestamptz language sql volatile as
      $$select to_timestamp(current_setting('model.ms')::bigint / 1000.0)$$`)
  await migratePostgres(client, { schema: SCHEMA })
  queries = new Queries(postgresDatabase(client), namesOf(SCHEMA, 'holdfast_leases'))
  const backend =
    await client.query(`select pid || ' ' || (extract(epoch from backend_start) * 1e6)::bigint as it
    from pg_stat_activity where pid = pg_backend_pid()`)
  connection = backend.rows[0].it
  const { rows } = await client.query(`update ${TABLE}_meta set watch_until = 1e18 returning watch_channel`)
  await client.query(`listen one; listen two; listen three; listen four; listen ${rows[0].watch_channel}`)
})
afterAll(async () => {
  await client.query(`drop schema ${SCHEMA} cascade`)
  await client.end()
})

it('the Postgres store gives the same answers, changes and wake-ups as the model', async () => {
  const property = fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60 }), async (actions) => {
    await client.query(`truncate ${TABLE}, ${TABLE}_waiters, ${TABLE}_shared`)
    const model = new Model()
    for (const action of actions) {
      const tokens = [...model.tokens]
      const reserved = model.reserved()
      const expected = model.do(action)
      const actual = await onTables(action, model.now, tokens)
      // The model calls again those whose turn it was already. Postgres calls a waiter once for each turn, also if a
      // steal then ends the turn. Who missed its turn has lost its place, and is called by both.
      const isKnown = ([id]: [string, number]) => reserved.has(id) && model.isWaiting(id)
      for (const outcome of [expected, actual])
        for (const wake of outcome.wakes) if (isKnown(wake)) outcome.wakes.delete(wake[0])
      expect(actual).toEqual(expected)
    }
    expect(await queries.read(['r'])).toEqual([model.live()])
    expect(await queries.waiting({ resources: ['r'], limit: 10 })).toEqual([model.queue()])
  })
  await checkProperty(property, { numRuns: RUNS, endOnFailure: RUNS > 100 })
})

interface Outcome {
  readonly answer: unknown
  readonly changes: readonly unknown[]
  readonly wakes: Map<string, number>
}

const idOf = (asker: number) => `asker ${asker}`

/** `tokens`: of all grants so far, the latest first. */
function requestOf(action: Action & { type: 'ask' }, tokens: readonly number[]): Ask {
  const { type, asker, waits, takesOver, ...rest } = action
  const replace = takesOver === 9 ? 'any' : takesOver < 2 ? tokens[takesOver] : undefined
  return {
    ...rest,
    resource: 'r',
    id: idOf(asker),
    owner: 'Mika',
    ...(replace !== undefined && { replace }),
    ...(waits && { wake: () => {} }),
  }
}

class Model {
  now = START_MS
  readonly tokens: number[] = []
  #row: LeaseRow | undefined

  live(): unknown {
    return this.#row ? shownRecords(this.#row, this.now) : []
  }

  reserved(): Set<string> {
    return new Set(this.#row?.reserved.keys())
  }

  isWaiting(id: string): boolean {
    return this.#row?.queue.has(id) ?? false
  }

  queue(): unknown {
    return waitingIn([...(this.#row?.queue.values() ?? [])], 10)
  }

  do(action: Action): Outcome {
    const effects = new Effects()
    const answer = this.#answer(action, effects)
    const { changes, wakes } = effects
    return { answer, changes, wakes }
  }

  #answer(action: Action, effects: Effects): unknown {
    if (action.type === 'pass') this.now += action.ms
    if (action.type === 'pass') return null
    const { now } = this
    if (action.type === 'sweep') return this.#sweep(effects)
    if (action.type === 'ask') {
      this.#row ??= newRow('r', 0)
      const request = requestOf(action, this.tokens)
      const channel = CHANNELS[action.asker] ?? ''
      const answer = ask(this.#row, request, action.waits ? channel : null, now, effects)
      if (answer.granted && answer.lease.token !== this.tokens[0]) this.tokens.unshift(answer.lease.token)
      return answer
    }
    const row = this.#row
    if (action.type === 'renew')
      return row
        ? renew(row, { id: idOf(action.asker), ttl: action.ttl }, now, effects)
        : { ok: false, holders: [] }
    if (!row) return { ended: null, holders: [] }
    const by = action.type === 'force' ? { token: this.tokens[action.back] ?? 0 } : { id: idOf(action.asker) }
    return release(row, by, now, effects)
  }

  /** Postgres visits only the resources of leases that are over. A reservation that was not used can wait. */
  #sweep(effects: Effects): unknown {
    const { leases = [] } = this.#row ?? {}
    for (const lease of leases) lease.expiresAt = Math.min(lease.expiresAt, this.now + lease.span)
    const isDue = leases.some((lease) => (lease.keptUntil ?? lease.expiresAt) <= this.now)
    return this.#row && isDue ? expire(this.#row, this.now, effects) : []
  }
}

async function onTables(action: Action, now: number, tokens: readonly number[]): Promise<Outcome> {
  const changes: unknown[] = []
  const wakes = new Map<string, number>()
  const onNotification = ({ payload = '' }: pg.Notification) => {
    const told = JSON.parse(payload)
    if ('wake' in told) wakes.set(told.id, told.wake)
    else if ('id' in told) changes.push(withShare(told))
  }
  client.on('notification', onNotification)
  await client.query(`select set_config('model.ms', $1, false)`, [now])
  const answer = await callTables(action, tokens)
  client.off('notification', onNotification)
  return { answer, changes, wakes }
}

function callTables(action: Action, tokens: readonly number[]): Promise<unknown> | null {
  switch (action.type) {
    case 'pass':
      return null
    case 'sweep':
      return queries.sweep(10)
    case 'release':
      return queries.release({ resource: 'r', id: idOf(action.asker) })
    case 'force':
      return queries.release({ resource: 'r', token: tokens[action.back] ?? 0 })
    case 'renew':
      return queries.renew({ resource: 'r', id: idOf(action.asker), ttl: action.ttl })
    case 'ask':
      return queries.acquire(requestOf(action, tokens), `${CHANNELS[action.asker]} ${connection}`)
  }
}
