/**
 * The procedures in the database are `lease-row.ts` written a second time. For any sequence of operations and any
 * steps of the clock, both must give the same answers, report the same changes and wake the same waiters.
 */
import fc from 'fast-check'
import { type Connection, createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mysqlDatabase } from '../../../src/clients/mysql.ts'
import type { Ask, LeaseRecord } from '../../../src/core/index.ts'
import { ask, Effects, expire, type LeaseRow, newRow, release, renew } from '../../../src/stores/lease-row.ts'
import { migrateMysql } from '../../../src/stores/mysql/index.ts'
import { namesOf } from '../../../src/stores/mysql/names.ts'
import { Queries } from '../../../src/stores/mysql/queries.ts'
import type { Wake } from '../../../src/stores/mysql/rows.ts'
import { checkProperty } from '../../property.ts'
import { makeSteppedClock } from './stepped-clock.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const DATABASE = `model_${process.pid}`
const START_MS = 1_800_000_000_000
/** The channel of each asker. */
const CHANNELS = ['one', 'one', 'two', 'three']
const WATCHER = 'watcher'
const FOREVER = Number.MAX_SAFE_INTEGER

const asker = fc.nat(CHANNELS.length - 1)
const ttl = fc.constantFrom(10, 1500, 60_000)
const often = <const T, const U>(value: T, ...others: U[]): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 2, arbitrary: fc.constantFrom(...others) })
const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('ask' as const),
      asker,
      ttl,
      waits: fc.boolean(),
      share: often(undefined, 1, 2, 3, Infinity),
      atLeast: often(undefined, 700, 5000),
      lockDelay: often(undefined, 300, 2000),
      replace: often('none', 'none', 'none', 'latest', 'stale', 'any'),
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

let connection: Connection
let queries: Queries
beforeAll(async () => {
  connection = await createConnection(url)
  await connection.query(`create database ${DATABASE}`)
  const names = namesOf(DATABASE, 'holdfast_leases')
  queries = new Queries(mysqlDatabase(connection), names)
  await migrateMysql(connection, { database: DATABASE })
  await makeSteppedClock(connection, DATABASE)
  for (const channel of new Set([...CHANNELS, WATCHER]))
    await connection.query(`insert into ${names.channels} values (?, ?, ?)`, [
      channel,
      FOREVER,
      channel === WATCHER ? FOREVER : 0,
    ])
})
afterAll(async () => {
  await connection.query(`drop database ${DATABASE}`)
  await connection.end()
})

it('the MySQL store gives the same answers, changes and wake-ups as the model', async () => {
  const property = fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60 }), async (actions) => {
    for (const name of ['', '_holders', '_waiters', '_messages'])
      await connection.query(`delete from ${DATABASE}.holdfast_leases${name}`)
    await connection.query(`update ${DATABASE}.holdfast_leases_meta set floor = 0, watch_until = ${FOREVER}`)
    const model = new Model()
    for (const action of actions) {
      const { tokens } = model
      const expected = model.do(action)
      expect(await onTables(action, model.now, tokens)).toEqual(expected)
    }
  })
  await checkProperty(property, { numRuns: 15 })
})

interface Outcome {
  readonly answer: unknown
  readonly changes: readonly unknown[]
  readonly wakes: Readonly<Record<string, number>>
}

const idOf = (asker: number) => `asker ${asker}`

interface Tokens {
  readonly latest: number
  readonly holder: number
}

function requestOf(action: Extract<Action, { type: 'ask' }>, tokens: Tokens): Ask {
  const { asker, ttl, waits, share, atLeast, lockDelay, replace } = action
  const replaced = { none: undefined, latest: tokens.holder, stale: tokens.holder - 1, any: 'any' } as const
  return {
    ...{ resource: 'r', id: idOf(asker), owner: 'Mika', ttl, share, atLeast, lockDelay },
    replace: replaced[replace],
    ...(waits && { wake: () => {} }),
  }
}

const byOf = (action: Extract<Action, { type: 'force' | 'release' }>, { holder }: Tokens) =>
  action.type === 'force'
    ? { resource: 'r', token: holder - Number(action.stale) }
    : { resource: 'r', id: idOf(action.asker) }

class Model {
  now = START_MS
  #row: LeaseRow | undefined

  get tokens(): Tokens {
    return { latest: this.#row?.token ?? 0, holder: this.#row?.leases[0]?.token ?? 7 }
  }

  do(action: Action): Outcome {
    const effects = new Effects()
    const answer = this.#answer(action, effects)
    const { changes, wakes } = effects
    return { answer, changes, wakes: Object.fromEntries(wakes) }
  }

  #answer(action: Action, effects: Effects): unknown {
    if (action.type === 'pass') this.now += action.ms
    if (action.type === 'pass') return null
    const { now, tokens } = this
    if (action.type === 'ask') {
      this.#row ??= newRow('r', 0)
      const request = requestOf(action, tokens)
      return ask(this.#row, request, action.waits ? (CHANNELS[action.asker] ?? '') : null, now, effects)
    }
    const row = this.#row
    if (action.type === 'sweep') {
      // The procedure looks only at resources with an expired lease.
      const isDue = row?.leases.some(
        ({ keptUntil, expiresAt }) => keptUntil === undefined && expiresAt <= now,
      )
      return row && isDue ? expire(row, now, effects) : []
    }
    if (action.type === 'renew')
      return row
        ? renew(row, { id: idOf(action.asker), ttl: action.ttl }, now, effects)
        : { ok: false, holders: [] }
    return row ? release(row, byOf(action, tokens), now, effects) : { ended: null, holders: [] }
  }
}

async function onTables(action: Action, now: number, tokens: Tokens): Promise<Outcome> {
  await connection.query(`set timestamp = ${now / 1000}`)
  const { answer, woken } = await callTables(action, tokens)
  const changes: LeaseRecord[] = []
  const [told] = await connection.query(`select distinct channel from ${DATABASE}.holdfast_leases_messages`)
  for (const { channel } of told as { channel: Buffer }[]) {
    const messages = await queries.fetch(channel.toString(), 1000)
    for (const message of messages) {
      if (message.kind === 'change') changes.push(message.lease)
      if (message.kind === 'wake') woken.push(message)
    }
    await queries.discard(messages.map(({ seq }) => seq))
  }
  // The caller need not be told.
  const caller = action.type === 'ask' || action.type === 'release' ? idOf(action.asker) : null
  const wakes = Object.fromEntries(woken.filter(({ id }) => id !== caller).map(({ id, inMs }) => [id, inMs]))
  return { answer, changes, wakes }
}

/** `woken`: those in the answer. The others are in the messages. */
async function callTables(action: Action, tokens: Tokens): Promise<{ answer: unknown; woken: Wake[] }> {
  const told = <T>(answer: T) => ({ answer, woken: [] })
  switch (action.type) {
    case 'pass':
      return told(null)
    case 'sweep':
      return told(await queries.sweep(10))
    case 'release':
    case 'force': {
      const channel = action.type === 'release' ? CHANNELS[action.asker] : CHANNELS[0]
      const { wakes, ...answer } = await queries.release(byOf(action, tokens), channel ?? '')
      return { answer, woken: [...wakes] }
    }
    case 'renew':
      return told(await queries.renew({ resource: 'r', id: idOf(action.asker), ttl: action.ttl }))
    case 'ask':
      return told(await queries.acquire(requestOf(action, tokens), CHANNELS[action.asker] ?? ''))
  }
}
