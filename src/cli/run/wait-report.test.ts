import { expect, it } from 'vitest'
import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { FakeClock } from '../../testing/index.ts'
import { WaitReport } from './wait-report.ts'

const MINUTE = 60_000

function holder(owner: string, heldMs: number): LeaseRecord {
  const times = { acquiredAt: 0, expiresAt: heldMs + 21_000, remaining: 21_000 }
  return {
    resource: 'backup',
    id: 'x',
    owner,
    token: 1,
    metadata: null,
    share: null,
    state: 'held',
    ...times,
  }
}

function waitOn(isWatched: boolean) {
  const clock = new FakeClock()
  const printed: string[] = []
  const answers = { current: (): readonly LeaseRecord[] => [holder('mika', 3 * MINUTE)] }
  const report = new WaitReport({
    clock,
    resource: 'backup',
    look: async () => answers.current(),
    terminal: {
      isWatched,
      step: (text) => void printed.push(text),
      remark: (text, details) => void printed.push(`${details?.type}: ${text}`),
    },
  })
  return { clock, printed, answers, report }
}

it('the report of a wait prints a line for each minute of a wait into a log', async () => {
  const { clock, printed, answers, report } = waitOn(false)
  report.start()
  await clock.advance(MINUTE - 1)
  expect(printed).toEqual([])
  await clock.advance(1)
  answers.current = () => [holder('zoe', 90_000), holder('ken', 1000)]
  report.start()
  await clock.advance(MINUTE)
  answers.current = () => {
    throw new LeaseError('store-unavailable', 'no answer')
  }
  await clock.advance(MINUTE)
  expect(printed).toEqual([
    'waiting: still waiting for backup after 1m: held by mika for 3m, 21s left',
    'waiting: still waiting for backup after 2m: held by zoe and 1 more for 1m 30s, 21s left',
    'waiting: still waiting for backup after 3m: the store does not answer',
  ])
  report.stop()
  await clock.advance(10 * MINUTE)
  expect(printed).toHaveLength(4)
})

it('the report of a wait keeps one line of a terminal up to date, and clears it after the wait', async () => {
  const { clock, printed, answers, report } = waitOn(true)
  report.start()
  await clock.advance(0)
  expect(printed).toEqual(['waiting for backup: held by mika for 3m, 21s left'])
  answers.current = () => []
  await clock.advance(5000)
  expect(printed.at(-1)).toBe('waiting for backup: nobody holds it, another waiter is first')
  report.stop()
  expect(printed.at(-1)).toBe('')
  await clock.advance(MINUTE)
  expect(printed).toHaveLength(3)
})

it('the report of a wait says nothing of a wait that is over before the answer', async () => {
  const { clock, printed, report } = waitOn(true)
  report.start()
  report.stop()
  await clock.advance(0)
  expect(printed).toEqual([''])
})
