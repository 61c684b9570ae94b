import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AnswerLimit } from '../../base/answer-limit.ts'
import type { PostgresDatabase, SqlRow, SqlValue } from '../../clients/postgres.ts'
import { settled } from '../../testing/fake-clock.ts'
import { UrgentLane } from './lane.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Statement {
  readonly text: string
  readonly values: readonly SqlValue[]
  answer(...rows: SqlRow[]): Promise<void>
  fail(error: object): Promise<void>
}

/** A connection that answers when the test says so. */
function connection() {
  const statements: Statement[] = []
  const query: PostgresDatabase['query'] = (text, values) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly SqlRow[]>()
    const answer = (...rows: SqlRow[]) => {
      resolve(rows)
      return settled()
    }
    const fail = (error: object) => {
      reject(error)
      return settled()
    }
    statements.push({ text, values, answer, fail })
    return promise
  }
  return { statements, query }
}

function setUp() {
  const own = connection()
  const pool = connection()
  const open = { query: own.query as PostgresDatabase['query'] | undefined }
  const database: PostgresDatabase = {
    connections: 10,
    limit: new AnswerLimit(),
    query: pool.query,
    run: async () => {},
  }
  const urgent = new UrgentLane(database, () => open.query)
  const renew = (resource: string) =>
    urgent.query('select renew($1::text, $2::integer) as answer', [resource, 5]).then(
      ([row]) => (row as { readonly answer?: unknown } | undefined)?.answer,
      (error) => error,
    )
  return { own, pool, open, urgent, renew }
}

describe('urgent queries', () => {
  it('urgent queries take the own connection while it is open, and otherwise the pool', async () => {
    const { own, pool, open, renew } = setUp()
    const first = renew('a')
    await own.statements[0]?.answer({ index: 0, answer: 'own' })
    expect(await first).toBe('own')
    open.query = undefined
    const second = renew('a')
    await pool.statements[0]?.answer({ answer: 'pool' })
    expect(await second).toBe('pool')
  })

  it('urgent queries are sent together while another one is under way, and lock resources in the order of the tables', async () => {
    const { own, urgent, renew } = setUp()
    const answers = ['first', '😀', '～'].map(renew)
    expect(own.statements).toHaveLength(1)
    await own.statements[0]?.answer({ index: 0, answer: 1 })
    expect(own.statements[1]).toMatchObject({
      text: expect.stringContaining(
        'when 0 then renew((call ->> 2)::text, (call ->> 3)::integer) end as answer',
      ),
      values: [
        JSON.stringify([
          [1, 0, '～', 5],
          [0, 0, '😀', 5],
        ]),
      ],
    })
    await own.statements[1]?.answer({ index: 1, answer: 3 }, { index: 0, answer: 2 })
    expect(await Promise.all(answers)).toEqual([1, 2, 3])
    expect(urgent.isBusy).toBe(false)
  })

  it('urgent queries take the pool while the own connection does not answer, and for a while after it has failed', async () => {
    const { own, pool, renew } = setUp()
    const answers = ['stuck', 'waiting'].map(renew)
    await vi.advanceTimersByTimeAsync(500)
    answers.push(renew('later'))
    expect(pool.statements.map(({ values: [resource] }) => resource)).toEqual(['waiting', 'later'])
    await own.statements[0]?.fail(new Error('Query read timeout'))
    answers.push(renew('retried'))
    expect(pool.statements).toHaveLength(3)
    for (const { answer } of pool.statements) await answer({ answer: 'pool' })
    expect(await Promise.all(answers)).toEqual([new Error('Query read timeout'), 'pool', 'pool', 'pool'])
    await vi.advanceTimersByTimeAsync(10_000)
    void renew('again')
    expect(own.statements).toHaveLength(2)
  })

  it('urgent queries are repeated by the pool one by one if the server has refused them', async () => {
    const { own, pool, renew } = setUp()
    const answers = ['first', 'a', 'b'].map(renew)
    await own.statements[0]?.answer({ index: 0, answer: 'own' })
    await own.statements[1]?.fail({ code: '40P01' })
    for (const { answer } of pool.statements) await answer({ answer: 'pool' })
    expect(await Promise.all(answers)).toEqual(['own', 'pool', 'pool'])
    void renew('next')
    expect(own.statements).toHaveLength(3)
  })

  it('urgent queries take the pool if the role of the own connection may only listen', async () => {
    const { own, pool, renew } = setUp()
    void renew('a')
    await own.statements[0]?.fail({ code: '42501' })
    await vi.advanceTimersByTimeAsync(60_000)
    void renew('b')
    expect([own.statements.length, pool.statements.length]).toEqual([1, 2])
  })
})
