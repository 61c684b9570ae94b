import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import type { LeaseRecord } from '../base/records.ts'
import { openTerminal, type Terminal, width } from './terminal.ts'
import { WatchView } from './watch-view.ts'

const NOW = new Date(2030, 0, 1, 12, 0, 0)
const opened = openTerminal({}, false)
const terminal = (columns: number, rows = 20): Terminal => ({ ...opened, columns, rows })

function lease(resource: string, owner = 'mika', acquiredAt = 0): LeaseRecord {
  const times = { acquiredAt, expiresAt: 60_000, remaining: 30_000 }
  return {
    resource,
    owner,
    id: resource,
    token: acquiredAt + 1,
    metadata: null,
    share: null,
    state: 'held',
    ...times,
  }
}

function drawn(view: WatchView, leases: readonly LeaseRecord[], columns = 100, rows = 20): string[] {
  return view.draw(leases, terminal(columns, rows), NOW).map(stripVTControlCharacters)
}

const leases = [lease('b', 'mika', 1), lease('a', 'zoe', 2), lease('c', 'ken', 3)]
const names = (lines: readonly string[]) => lines.flatMap((line) => /^[> ] ([abc]) /.exec(line)?.[1] ?? [])

it('the screen of watch sorts by resource, holder and age', () => {
  const view = new WatchView('sqlite:x')
  const orders = ['abc', 'cba', 'bac'].map((expected) => {
    const order = names(drawn(view, leases)).join('')
    view.press('s', leases)
    return [order, expected]
  })
  for (const [order, expected] of orders) expect(order).toBe(expected)
})

it('the screen of watch filters by resource and holder while one types', () => {
  const view = new WatchView('sqlite:x')
  for (const key of '/KE') view.press(key, leases)
  expect(names(drawn(view, leases))).toEqual(['c'])
  expect(drawn(view, leases).at(-1)).toContain('filter: KE_')
  view.press('\x7f', leases)
  view.press('\r', leases)
  view.press('\x1b', leases)
  expect(names(drawn(view, leases))).toEqual(['a', 'b', 'c'])
})

it('the screen of watch releases the lease that was selected when the key was pressed, only after a y', () => {
  const view = new WatchView('sqlite:x')
  drawn(view, leases)
  view.press('\x1b[B', leases)
  view.press('r', leases)
  expect(drawn(view, leases).at(-1)).toBe('End the lease of b, held by mika? y/N')
  expect(view.press('\r', leases)).toBeUndefined()
  view.press('r', leases)
  // Another lease is sorted before it now, and the selected line is another one.
  expect(view.press('y', [lease('0'), ...leases])).toEqual({ type: 'release', lease: leases[0] })
})

it('the screen of watch shows everything about one lease, and says when it has ended', () => {
  const view = new WatchView('sqlite:x')
  view.press('\r', leases)
  expect(drawn(view, leases).join('\n')).toMatch(/holder +zoe/)
  expect(drawn(view, []).join('\n')).toContain('This lease has ended.')
  view.press(' ', leases)
  expect(names(drawn(view, leases))).toEqual(['a', 'b', 'c'])
})

it('the screen of watch shows the share and the number of waiters of each resource, and in its details the waiters in their order', () => {
  const view = new WatchView('sqlite:x')
  const shared = [lease('a', 'mika', 1), lease('a', 'zoe', 2)].map((one) => ({ ...one, share: 3 }))
  expect(drawn(view, [...shared, lease('b')]).join('\n')).toMatch(
    /> a +2 holders: mika, zoe .* 2 of 3 .*\n {2}b /,
  )
  expect(view.waitingQuery).toEqual({ resources: ['a', 'b'], limit: 0 })
  view.showWaiters(view.waitingQuery, [
    { count: 4, first: [] },
    { count: 0, first: [] },
  ])
  expect(drawn(view, shared).join('\n')).toMatch(/a +2 holders: mika, zoe +4 +30s /)
  for (const key of ' jj') {
    view.press(key, shared)
    drawn(view, shared)
  }
  view.press('\r', shared)
  drawn(view, shared)
  expect(view.waitingQuery).toEqual({ resources: ['a'], limit: 10 })
  const first = [
    { id: '1', owner: 'ken', share: null, place: 0 },
    { id: '2', owner: 'rin', share: Infinity, place: 1 },
    { id: '3', owner: 'ada', share: 3, place: 2 },
  ]
  view.showWaiters(view.waitingQuery, [{ count: 4, first }])
  const details = drawn(view, shared, 100, 40).join('\n')
  expect(details).toContain('waiting   4: ken (exclusive), rin (reader), ada (share 3), …')
  // The chosen one first.
  expect(details).toMatch(/holders +2\nshare +2 of 3\n.*holder +zoe\n.*holder +mika\n/s)
})

it('the screen of watch folds the holders of a resource, and releases only one that is selected', () => {
  const view = new WatchView('sqlite:x')
  const shared = [lease('a', 'mika', 1), lease('a', 'zoe', 2)].map((one) => ({ ...one, share: 3 }))
  drawn(view, shared)
  view.press('r', shared)
  expect(drawn(view, shared).at(-1)).toBe('2 hold it: Space shows them, then select the one to release.')
  view.press(' ', shared)
  const lines = drawn(view, shared).filter((line) => /mika|zoe/.test(line))
  expect(lines).toEqual([
    expect.stringMatching(/^> a +2 holders: mika, zoe/),
    expect.stringMatching(/^ {2} +mika +30s/),
    expect.stringMatching(/^ {2} +zoe +30s/),
  ])
  expect(drawn(view, shared)[1]).toContain(' 2 leases ')
  for (const key of 'jj') view.press(key, shared)
  view.press('r', shared)
  expect(drawn(view, shared).at(-1)).toBe('End the lease of a, held by zoe? y/N')
  expect(view.press('y', shared)).toEqual({ type: 'release', lease: shared[1] })
  view.press(' ', shared)
  expect(drawn(view, shared).filter((line) => /mika|zoe/.test(line))).toHaveLength(1)
})

it('the screen of watch shows a resource that its last lease keeps, and for how long', () => {
  const view = new WatchView('sqlite:x')
  const kept = { ...lease('a'), state: 'kept' as const }
  expect(drawn(view, [kept]).join('\n')).toMatch(/> a +kept, last mika +30s/)
})

it('the screen of watch says how many holders of a resource do not fit', () => {
  const view = new WatchView('sqlite:x')
  const shared = Array.from({ length: 4 }, (_, n) => ({ ...lease('a', `owner-${n}`, n), share: 5 }))
  view.press('\r', shared)
  expect(drawn(view, shared, 80, 40).join('\n')).not.toContain('more')
  const short = drawn(view, shared, 80, 24).join('\n')
  expect(short.match(/owner-/g)).toHaveLength(2)
  expect(short).toMatch(/\nand 2 more holders\n/)
  expect(drawn(view, shared, 80, 26).join('\n')).toMatch(/\nand 1 more holder\n/)
})

it('the screen of watch shows an error of the store whole, on lines of its own, and no times that nobody knows', () => {
  const view = new WatchView('redis://db')
  const problem =
    'Redis: connect ECONNREFUSED 127.0.0.1:6379; check that it is running and that the address is correct'
  view.showProblem(problem)
  for (const columns of [60, 80]) {
    const lines = drawn(view, leases, columns)
    expect(lines.slice(2, 4).join(' ')).toBe(problem)
    expect(lines.find((line) => line.startsWith('> a'))).toMatch(/zoe +\? +\?/)
  }
  view.showWaiters(view.waitingQuery, [])
  expect(drawn(view, leases).join('\n')).toMatch(/zoe +30s/)
})

it.each([
  [60, 'RESOURCE HOLDER WAITING LEFT'],
  [80, 'RESOURCE HOLDER WAITING LEFT HELD FOR'],
  [120, 'RESOURCE HOLDER WAITING LEFT HELD FOR SHARE'],
  [140, 'RESOURCE HOLDER WAITING LEFT HELD FOR SHARE TOKEN'],
])(
  'the screen of watch keeps the columns with the holders and the waiters, at %d columns',
  (columns, expected) => {
    const view = new WatchView('sqlite:x')
    const token = 1_794_726_965_942_000
    const long = [
      { ...lease('reports/2026/monthly/sales-by-region', 'deploy@web-12.example.com:4711'), token },
      { ...lease('encoder', 'app@web-2.example.com:90'), token, share: 5 },
    ]
    const lines = drawn(view, long, columns)
    const heading = lines.find((line) => line.includes('RESOURCE')) ?? ''
    expect(heading.trim().split(/ +/).join(' ')).toBe(expected)
  },
)

it('the screen of watch quits by q, Ctrl-C and Ctrl-D, and not by a q in the filter', () => {
  const view = new WatchView('sqlite:x')
  for (const key of ['q', '\x03', '\x04']) expect(view.press(key, leases)).toEqual({ type: 'quit' })
  view.press('/', leases)
  expect(view.press('q', leases)).toBeUndefined()
})

it('the screen of watch counts what happened in the last minute', () => {
  const view = new WatchView('sqlite:x')
  const at = (seconds: number) => new Date(NOW.getTime() - seconds * 1000)
  view.addChange({ type: 'held', lease: lease('old') }, at(61))
  view.addChange({ type: 'held', lease: lease('a') }, at(30))
  view.addChange({ type: 'renewed', lease: lease('a') }, at(20))
  view.addChange({ type: 'expired', lease: lease('a') }, at(10))
  expect(drawn(view, [])[1]).toBe('12:00:00  0 leases  1 granted/min  1 lost/min  0 released/min')
})

it('the screen of watch fits every terminal, whatever the names', () => {
  const view = new WatchView('x'.repeat(200))
  const long = '請'.repeat(100)
  const many = Array.from({ length: 100 }, (_, index) => ({
    ...lease(`${long}${index}`, long, index),
    share: 1e6,
  }))
  view.addChange({ type: 'held', lease: lease(long, long) }, NOW)
  view.showProblem(long)
  for (const [columns, rows] of [
    [40, 12],
    [60, 20],
    [120, 50],
  ] as const) {
    const lines = drawn(view, many, columns, rows)
    expect(lines.length).toBeLessThanOrEqual(rows)
    for (const line of lines) expect(width(line)).toBeLessThanOrEqual(columns)
    expect(lines.at(-1)).toContain('q quit')
    view.showWaiters(view.waitingQuery, [{ count: 10_000, first: [] }])
    view.press('\r', many)
    for (const line of drawn(view, many, columns, rows)) expect(width(line)).toBeLessThanOrEqual(columns)
    view.press(' ', many)
  }
})

it('the screen of watch scrolls with the selected line', () => {
  const view = new WatchView('sqlite:x')
  const many = Array.from({ length: 30 }, (_, index) => lease(`job-${String(index).padStart(2, '0')}`))
  for (let presses = 0; presses < 29; presses++) view.press('j', many)
  drawn(view, many)
  expect(drawn(view, many).find((line) => line.startsWith('>'))).toContain('job-29')
  expect(drawn(view, many).join('\n')).toContain('of 30')
})
