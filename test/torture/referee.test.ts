import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Observation } from '../../src/testing/node/index.ts'
import { appendTo } from '../../src/testing/node/observation.ts'
import { judge } from './referee.ts'

let directory: string
let note: (observation: Observation) => void
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-referee-'))
  note = appendTo(join(directory, 'log'))
})
afterEach(() => rm(directory, { recursive: true }))

function judged(jumps = false, writes: readonly (readonly [token: number, writer: string])[] = []): string[] {
  const guardPath = join(directory, 'guarded.db')
  const database = new DatabaseSync(guardPath)
  database.exec(
    'create table writes (n integer primary key autoincrement, resource text, token integer, writer text)',
  )
  for (const [token, writer] of writes)
    database.prepare("insert into writes (resource, token, writer) values ('r', ?, ?)").run(token, writer)
  database.close()
  return judge({ logPath: join(directory, 'log'), guardPath, jumps })
}

/** When it asked, and when it held the lease. */
function hold(worker: string, token: number, [asked, ...held]: readonly number[]): void {
  note({ at: asked ?? 0, worker, resource: 'r' })
  for (const at of held) note({ at, worker, resource: 'r', token })
}

it('workers that hold one after the other, with rising tokens, break no rule', () => {
  hold('a', 1, [0, 10, 20])
  hold('b', 2, [5, 30, 40])
  expect(judged()).toEqual([])
})

it('two who believe to hold the same resource break a rule, unless the clock of the store jumps', () => {
  hold('a', 1, [0, 10, 30])
  hold('b', 2, [5, 20, 40])
  expect(judged()).toEqual([expect.stringContaining('began 10 µs before the end of')])
})

it('a clock that jumps excuses two holders, and no token that falls', () => {
  hold('a', 2, [0, 10, 30])
  hold('b', 3, [5, 20, 40])
  hold('c', 1, [50, 60])
  expect(judged(true)).toEqual([
    expect.stringMatching(/^c's lease .* token 1 began after a's/),
    expect.stringMatching(/^c's lease .* token 1 began after b's/),
  ])
})

it('a write with an older token than the last one breaks a rule', () => {
  note({ at: 0, worker: 'a', resource: 'r' })
  expect(
    judged(false, [
      [1, 'a'],
      [2, 'b'],
      [2, 'b'],
      [1, 'a'],
    ]),
  ).toEqual(['a wrote to r with token 1 after b with 2'])
})
