/**
 * The functions in the database are `lease-row.ts` written a second time. For any sequence of operations and any
 * steps of the clock, both must give the same answers, report the same changes and wake the same waiters.
 */
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ask, Effects, expire, type LeaseRow, newRow, release, renew } from '../../../src/stores/lease-row.ts'
import { migratePostgres } from '../../../src/stores/postgres/index.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const SCHEMA = `model_${process.pid}`
const TABLE = `${SCHEMA}.holdfast_leases`
const START_MS = 1_800_000_000_000
/** The channel of each asker. */
const CHANNELS = ['one', 'one', 'two', 'three']

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
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('release' as const), asker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('renew' as const), asker, ttl }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('force' as const), stale: fc.boolean() }) },
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
/** The pid and the start of the server process that listens. */
let connection: string
beforeAll(async () => {
  client = new pg.Client({ connectionString: url, options: `-c search_path=${SCHEMA},pg_catalog` })
  await client.connect()
  await client.query(`create schema ${SCHEMA};
    create table ${SCHEMA}.clock (ms bigint);
    insert into ${SCHEMA}.clock values (${START_MS});
    create function ${SCHEMA}.clock_timestamp() returns timestamptz language sql volatile as
      'select to_timestamp(ms / 1000.0) from ${SCHEMA}.clock'`)
  await migratePostgres(client, { schema: SCHEMA })
  const backend =
    await client.query(`select pid || ' ' || (extract(epoch from backend_start) * 1e6)::bigint as it
    from pg_stat_activity where pid = pg_backend_pid()`)
  connection = backend.rows[0].it
  const { rows } = await client.query(`update ${TABLE}_meta set watch_until = 1e18 returning watch_channel`)
  await client.query(`listen one; listen two; listen three; listen ${rows[0].watch_channel}`)
})
afterAll(async () => {
  await client.query(`drop schema ${SCHEMA} cascade`)
  await client.end()
})

it('gives the same answers, changes and wake-ups as the model', async () => {
  const property = fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60 }), async (actions) => {
    await client.query(`truncate ${TABLE}, ${TABLE}_waiters`)
    const model = new Model()
    for (const action of actions) {
      const { token } = model
      const expected = model.do(action)
      expect(await onTables(action, model.now, token)).toEqual(expected)
    }
  })
  await fc.assert(property, { numRuns: 60 })
})

interface Outcome {
  readonly answer: unknown
  readonly changes: readonly unknown[]
  readonly wakes: Readonly<Record<string, number>>
}

const idOf = (asker: number) => `asker ${asker}`

function replaces({ takesOver }: { takesOver: number }, token: number): number | null {
  return takesOver < 2 ? token - takesOver : null
}

class Model {
  now = START_MS
  #row: LeaseRow | undefined

  get token(): number {
    return this.#row?.token ?? 0
  }

  do(action: Action): Outcome {
    const effects = new Effects()
    const answer = this.#answer(action, effects)
    const { changes, wakes } = effects
    return JSON.parse(JSON.stringify({ answer, changes, wakes: Object.fromEntries(wakes) }))
  }

  #answer(action: Action, effects: Effects): unknown {
    if (action.type === 'pass') this.now += action.ms
    if (action.type === 'pass') return null
    const { now } = this
    if (action.type === 'sweep') return this.#row ? expire(this.#row, now, effects) : []
    if (action.type === 'ask') {
      this.#row ??= newRow('r', 0)
      const id = idOf(action.asker)
      const replace = replaces(action, this.token)
      const channel = CHANNELS[action.asker] ?? ''
      const request = {
        resource: 'r',
        id,
        owner: 'Mika',
        ttl: action.ttl,
        ...(replace !== null && { replace }),
      }
      return ask(this.#row, request, action.waits ? channel : null, now, effects)
    }
    const row = this.#row
    if (action.type === 'renew')
      return row
        ? renew(row, { id: idOf(action.asker), ttl: action.ttl }, now, effects)
        : { ok: false, holders: [] }
    if (!row) return { ended: null, holders: [] }
    const by =
      action.type === 'force' ? { token: row.token - Number(action.stale) } : { id: idOf(action.asker) }
    return release(row, by, now, effects)
  }
}

async function onTables(action: Action, now: number, token: number): Promise<Outcome> {
  const changes: unknown[] = []
  const wakes: Record<string, number> = {}
  const onNotification = ({ payload = '' }: pg.Notification) => {
    const told = JSON.parse(payload)
    if ('wake' in told) wakes[told.id] = told.wake
    else if ('id' in told) changes.push(told)
  }
  client.on('notification', onNotification)
  await client.query(`update ${SCHEMA}.clock set ms = $1`, [now])
  const answer = await callTables(action, token)
  client.off('notification', onNotification)
  return { answer, changes, wakes }
}

async function callTables(action: Action, token: number): Promise<unknown> {
  const call = async (text: string, ...values: unknown[]) => {
    const { rows } = await client.query(`select ${TABLE}_${text} as answer`, values)
    return JSON.parse(rows[0].answer)
  }
  switch (action.type) {
    case 'pass':
      return null
    case 'sweep':
      return call('sweep(10)')
    case 'release':
      return call(`release('r', $1, null)`, idOf(action.asker))
    case 'force':
      return call(`release('r', null, $1)`, token - Number(action.stale))
    case 'renew':
      return call(`renew('r', $1, $2)`, idOf(action.asker), action.ttl)
    case 'ask': {
      const { asker, ttl, waits } = action
      const text = `acquire('r', $1, 'Mika', $2, null, $3, $4, $5)`
      const values = [idOf(asker), ttl, `${CHANNELS[asker]} ${connection}`, waits, replaces(action, token)]
      const { replaced, ...answer } = await call(text, ...values)
      return replaced ? { ...answer, replaced } : answer
    }
  }
}
