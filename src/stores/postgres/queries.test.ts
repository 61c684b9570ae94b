import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AnswerLimit } from '../../base/answer-limit.ts'
import type { SqlRow, SqlValue } from '../../clients/postgres.ts'
import { settled } from '../../testing/fake-clock.ts'
import { RequestLane } from './queries.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A database that answers when the test says so. */
function setUp() {
  const statements: { text: string; values: readonly SqlValue[]; end: PromiseWithResolvers<SqlRow[]> }[] = []
  const requests = new RequestLane({
    connections: 10,
    limit: new AnswerLimit(),
    run: async () => {},
    query: (text, values) => {
      const end = Promise.withResolvers<SqlRow[]>()
      statements.push({ text, values, end })
      return end.promise
    },
  })
  const acquire = (resource: string, id: string) =>
    requests.query('select acquire($1::text, $2::text) as answer', [resource, id]).then(
      ([row]) => (row as { readonly answer?: unknown } | undefined)?.answer,
      (error) => error,
    )
  const answer = async (index: number, ...rows: SqlRow[]) => {
    statements[index]?.end.resolve(rows)
    await settled()
  }
  return { statements, acquire, answer }
}

describe('acquire requests', () => {
  it('acquire requests of several resources are sent at once, each as it is', async () => {
    const { statements, acquire } = setUp()
    for (const resource of ['a', 'b']) void acquire(resource, 'x')
    expect(statements.map(({ text, values }) => [text, values])).toEqual([
      ['select acquire($1::text, $2::text) as answer', ['a', 'x']],
      ['select acquire($1::text, $2::text) as answer', ['b', 'x']],
    ])
  })

  it('acquire requests of one resource that come while one is under way are sent together after it', async () => {
    const { statements, acquire, answer } = setUp()
    const first = acquire('r', 'a')
    const others = [acquire('r', 'b'), acquire('r', 'c')]
    await settled()
    expect(statements).toHaveLength(1)
    await answer(0, { answer: 'A' })
    expect(await first).toBe('A')
    expect(statements[1]).toMatchObject({
      text: expect.stringContaining(
        'when 0 then acquire((call ->> 2)::text, (call ->> 3)::text) end as answer',
      ),
      values: [
        JSON.stringify([
          [0, 0, 'r', 'b'],
          [1, 0, 'r', 'c'],
        ]),
      ],
    })
    const last = acquire('r', 'd')
    await answer(1, { index: 1, answer: 'C' }, { index: 0, answer: 'B' })
    expect(await Promise.all(others)).toEqual(['B', 'C'])
    await answer(2, { answer: 'D' })
    expect(await last).toBe('D')
    void acquire('r', 'e')
    expect(statements).toHaveLength(4)
  })

  it('acquire requests do not wait for long behind one that is not answered', async () => {
    const { statements, acquire } = setUp()
    for (const id of ['a', 'b', 'c']) void acquire('r', id)
    await vi.advanceTimersByTimeAsync(500)
    expect(statements.map(({ values }) => values[1])).toEqual(['a', 'b', 'c'])
    void acquire('r', 'd')
    expect(statements).toHaveLength(4)
  })

  it('acquire requests are sent again one by one if the server undid them together', async () => {
    const { statements, acquire, answer } = setUp()
    void acquire('r', 'a')
    const others = [acquire('r', 'b'), acquire('r', 'c')]
    await answer(0, { answer: 'A' })
    statements[1]?.end.reject(Object.assign(new Error('deadlock'), { code: '40P01' }))
    await settled()
    await answer(2, { answer: 'B' })
    await answer(3, { answer: 'C' })
    expect(await Promise.all(others)).toEqual(['B', 'C'])
  })

  it('acquire requests that were sent together fail together if there was no answer, and are not sent twice', async () => {
    const { statements, acquire, answer } = setUp()
    void acquire('r', 'a')
    const others = [acquire('r', 'b'), acquire('r', 'c')]
    await answer(0, { answer: 'A' })
    statements[1]?.end.reject(new Error('connection lost'))
    const lost = expect.objectContaining({ message: 'connection lost' })
    expect(await Promise.all(others)).toEqual([lost, lost])
    expect(statements).toHaveLength(2)
  })
})
