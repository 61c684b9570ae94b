import { describe, expect, it } from 'vitest'
import {
  type JobRun,
  type Listening,
  outcomeViolations,
  type RegisterOperation,
  registerViolations,
  replicaViolations,
  runViolations,
  saveViolations,
  unlockViolations,
  WordRecord,
} from './index.ts'

describe('the history of values', () => {
  const set = (n: number, start: number, end: number): RegisterOperation => ({
    kind: 'set',
    id: 'a',
    n,
    start,
    end,
  })
  const remove = (start: number, end: number): RegisterOperation => ({
    ...set(0, start, end),
    kind: 'remove',
  })
  const judge = (n: number | undefined, ...history: RegisterOperation[]) =>
    registerViolations(history, new Map(n === undefined ? [] : [['a', n]]))

  it('the last acknowledged write is stored, or one that was under way at the same time', () => {
    expect(judge(2, set(1, 0, 5), set(2, 6, 9))).toEqual([])
    expect(judge(1, set(1, 0, 7), set(2, 6, 9))).toEqual([])
    expect(judge(1, set(1, 0, 5), set(2, 6, Infinity))).toEqual([])
  })

  it('a write that was lost, replaced by an older one or never made is found', () => {
    expect(judge(undefined, set(1, 0, 5))).toEqual(['a was set (1) after all removals, and is lost'])
    expect(judge(1, set(1, 0, 5), set(2, 6, 9))).toEqual(['a is 1, and 2 was written after it'])
    expect(judge(7, set(1, 0, 5))).toEqual(['a is 7, which nobody has written'])
  })

  it('a value that was removed and is there again is found', () => {
    expect(judge(1, set(1, 0, 5), remove(6, 9))).toEqual(['a was removed after all sets, and is there (1)'])
    expect(judge(undefined, set(1, 0, 5), remove(6, 9))).toEqual([])
  })

  it('a replica that differs from what is stored is found', () => {
    const stored = new Map([['a', 1]])
    const shown = new Map([
      ['page 1', new Map([['a', 1]])],
      ['page 2', new Map([['a', 2]])],
    ])
    expect(replicaViolations(shown, stored)).toEqual(['page 2 shows [["a",2]], and [["a",1]] is stored'])
  })
})

describe('the history of jobs', () => {
  const run = (
    worker: string,
    token: number,
    start: number,
    workEnd: number,
    finished = Infinity,
  ): JobRun => ({
    job: 'j',
    worker,
    token,
    start,
    workEnd,
    finished,
  })
  const judge = (...runs: JobRun[]) => runViolations(runs, ['j'])

  it('a job that is repeated after a crash is accepted', () => {
    expect(judge(run('ann', 1, 0, 5), run('ben', 2, 6, 9, 10))).toEqual([])
  })

  it('two runs at the same time, and a run after the end, are found', () => {
    expect(judge(run('ann', 1, 0, 7), run('ben', 2, 6, 9, 10))).toEqual([
      'ben began j while ann worked on it',
    ])
    expect(judge(run('ann', 1, 0, 5, 6), run('ben', 2, 7, 9))).toEqual([
      'ben began j, which ann had finished',
    ])
  })

  it('two acknowledged ends and a token that falls are found', () => {
    expect(judge(run('ann', 1, 0, 5, 20), run('ben', 2, 6, 9, 10))).toEqual([
      'j was finished 2 times: by ann, ben',
    ])
    expect(judge(run('ann', 3, 0, 5), run('ben', 2, 6, 9))).toEqual(['ben began j with token 2, after 3'])
  })
})

describe('the history of outcomes', () => {
  const lock = (token: number, from: number, to: number) => ({ job: 'j', token, from, to })
  const outcome = (token: number, at: number) => ({ job: 'j', token, at })

  it('one outcome of the last holder, within its lock, is accepted', () => {
    expect(outcomeViolations([lock(1, 0, 5), lock(2, 6, 10)], [outcome(2, 10)])).toEqual([])
    expect(outcomeViolations([lock(1, 0, 5)], [])).toEqual([])
  })

  it('an outcome after the lock, with an earlier token, and a second one are found', () => {
    expect(outcomeViolations([lock(1, 0, 5)], [outcome(1, 6)])).toEqual([
      'the outcome of j was written with token 1, whose lock was not live',
    ])
    expect(outcomeViolations([lock(1, 0, 9), lock(2, 6, 10)], [outcome(1, 8)])).toEqual([
      'the outcome of j was written with token 1 after 2',
    ])
    expect(outcomeViolations([lock(1, 0, 9)], [outcome(1, 8), outcome(1, 9)])).toEqual([
      'the outcome of j was written twice: with 1 and 1',
    ])
  })
})

describe('the history of announcements', () => {
  const unlock = { room: 'r', token: 1, lockedAt: 10, knownBy: 30 }
  const socket = (from: number, to: number, ...tokens: number[]): Listening => ({
    socket: 's',
    room: 'r',
    from,
    to,
    heard: tokens.map((token) => ({ room: 'r', token, at: 25 })),
  })

  it('an unlock that is heard once is accepted, and one that a late or early socket missed', () => {
    expect(unlockViolations([unlock], [socket(0, 50, 1), socket(20, 50), socket(0, 25)])).toEqual([])
  })

  it('an unlock that is heard twice, missed or untrue is found', () => {
    expect(unlockViolations([unlock], [socket(0, 50, 1, 1)])).toEqual([
      's heard 2 times that 1 of r has ended',
    ])
    expect(unlockViolations([unlock], [socket(0, 50)])).toEqual(['s did not hear that 1 of r has ended'])
    expect(unlockViolations([{ ...unlock, endedAt: 26 }], [socket(0, 50, 1)])).toEqual([
      's heard of the end of 1 of r before it had ended',
    ])
    expect(unlockViolations([unlock], [socket(0, 50, 1, 2)])).toEqual([
      's heard of the end of 2 of r, which has not ended',
    ])
  })
})

describe('the history of saves', () => {
  const save = (token: number, sequence?: number) => ({ room: 'r', token, sequence })

  it('saves in the order of their grants and sequences are accepted, also when one is repeated', () => {
    expect(saveViolations([save(1, 5), save(1, 6), save(1, 6), save(2, 3), save(2), save(2, 4)])).toEqual([])
    expect(saveViolations([save(2, 1), { ...save(1, 1), room: 'other' }])).toEqual([])
  })

  it('a save that was replaced by one of an earlier grant, or by an earlier one of its grant, is found', () => {
    expect(saveViolations([save(1, 5), save(2, 1), save(1, 6)])).toEqual([
      'the save 1 of token 2 of r was replaced by the save 6 of token 1 of r',
    ])
    expect(saveViolations([save(1, 5), save(1, 6), save(1, 5)])).toEqual([
      'the save 6 of token 1 of r was replaced by the save 5 of token 1 of r',
    ])
  })
})

describe('the history of words', () => {
  it('words that are lost, doubled or back again are found', () => {
    const record = new WordRecord()
    record.note('typed', ['one', 'two', 'three'])
    record.note('removed', ['four'])
    expect(record.check('one three three four')).toEqual({
      lost: ['two'],
      doubled: ['three'],
      resurrected: ['four'],
      saved: 3,
      givenUp: 0,
    })
  })
})
