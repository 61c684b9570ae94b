/** What a row should reach, beside what was measured and the best of the others in the same run. */
import { markdownTable } from './markdown-table.ts'
import { cellOf, type Place, type Results, tableOf } from './results.ts'

interface Goal extends Place {
  readonly what: string
  /** `≥ 0.80`, `≤ 3.7 µs`. */
  readonly reach: string
  /** The column of the spread. Default: `spread`. */
  readonly spread?: string
}

const CALLS = 'acquire calls'
const LATE = 'after the end of the lock, ms'
const LEASES = 'leases.tryAcquire, lease.release'
/** What is ours, what all are compared with, and the locks of a connection, which end with it and have no tokens. */
const NO_PEER =
  /^(leases|store\.|raw |bare |two bare|blocking|one by one|acquireAll|.*null store|memory store|empty |node -e|GET_LOCK|advisory)/

/** Acquire and release, as a part of what the bare client reaches. */
const RATIOS: readonly Goal[] = [
  ...pairs('Redis (ioredis)', 'redis', 'Redis by ioredis', '× raw SET NX PX, Lua release', [0.8, 0.9]),
  ...pairs(
    'Redis (node-redis)',
    'redis',
    'Redis by node-redis',
    '× raw SET NX PX, Lua release',
    [0.75, 0.85],
  ),
  ...pairs('Postgres', 'postgres', 'Postgres', '× bare upsert and update', [1, 0.85]),
  ...pairs('MySQL', 'mysql', 'MySQL', '× bare upsert and update', [0.8, 0.8]),
  ...pairs('etcd', 'etcd', 'etcd', '× bare put with a lease, and delete', [0.75, 0.75]),
  ...['normal', 'full'].map((how) => ({
    what: `SQLite, synchronous = ${how}`,
    bench: 'sqlite',
    table: `SQLite, acquire + release, synchronous = ${how}`,
    row: LEASES,
    column: '× two bare statements',
    reach: '≥ 0.75',
  })),
]

const GOALS: readonly Goal[] = [
  ...RATIOS,
  ...handoff('Redis', 'redis', [1, 10]),
  ...handoff('MySQL', 'mysql', [2, 10]),
  ...handoff('etcd', 'etcd', [5, 15]),
  goal(
    '50 callers on 5 permits, Redis, drain ms',
    'redis',
    'Redis, 50 callers',
    'leases',
    'drain ms',
    '≤ 40',
  ),
  goal(
    '50 callers on 5 permits, Postgres, drain ms',
    'postgres',
    'Postgres, 50 callers',
    'leases',
    'drain ms',
    '≤ 40',
  ),
  goal(
    'The last of 100 readers, Postgres, ms',
    'postgres',
    'Postgres, from the writer',
    'leases',
    'p50 ms',
    '≤ 12',
  ),
  goal(
    'Told of a loss, server frozen, ms after the end',
    'redis',
    'Redis, server frozen',
    'leases',
    LATE,
    '≤ 0',
  ),
  goal(
    'The manager, on a store that does nothing',
    'manager',
    'The manager',
    'null store that limits',
    'µs',
    '≤ 3.7 µs',
  ),
  ...['memory', 'sqlite', 'redis', 'postgres', 'mysql'].map((store) =>
    goal(
      `Requests of acquireAll for ten names, ${store}`,
      'acquire-all',
      `${store}:`,
      'acquireAll',
      CALLS,
      '≤ 1',
    ),
  ),
  goal(
    'Heartbeat over HTTP, processor time',
    'server-heartbeat',
    'The same',
    'heartbeat PUT, synchronous = normal',
    'µs',
    '≤ 50 µs',
  ),
  goal(
    '… with synchronous = full',
    'server-heartbeat',
    'The same',
    'heartbeat PUT, synchronous = full',
    'µs',
    '≤ 60 µs',
  ),
  goal('Start of holdfast ls, × node -e 0', 'cli-start', 'Start', 'holdfast ls', '× node -e 0', '≤ 2.5'),
  goal('Start of holdfast run, × node -e 0', 'cli-start', 'Start', 'holdfast run', '× node -e 0', '≤ 2.5'),
]

export function goalTable(results: Results): string {
  const rows = GOALS.map((goal) => {
    const measured = cellOf(results, goal)
    const { spread = 'spread' } = goal
    const [head] = tableOf(results, goal).rows
    // A count has none: the column is that of another figure.
    const hasSpread = head?.includes(spread) && goal.column !== CALLS
    return [
      goal.what,
      goal.reach,
      measured,
      hasSpread ? cellOf(results, { ...goal, column: spread }) : '',
      bestPeer(results, goal),
      isReached(goal, measured) ? 'yes' : '**no**',
    ]
  })
  return markdownTable([['', 'goal', 'measured', 'spread', 'best of the others', 'reached'], ...rows])
}

export function isReached({ reach }: Pick<Goal, 'reach'>, measured: string): boolean {
  const [sign, limit] = reach.split(' ')
  return sign === '≥' ? Number(measured) >= Number(limit) : Number(measured) <= Number(limit)
}

/** Bars from 0 on, one for each row of `RATIOS`, with the goal as a line and the best of the others as a dot. */
export function ratioPlot(results: Results): string {
  const bars = RATIOS.map((goal) => ({
    goal,
    value: Number(cellOf(results, goal)),
    peer: peerValue(results, goal),
  }))
  const [left, width, step, top] = [280, 410, 30, 52]
  const most = Math.max(1.2, ...bars.map(({ value }) => value))
  const x = (value: number) => (left + (width * value) / most).toFixed(1)
  const lines = bars.flatMap(({ goal, value, peer }, row) => {
    const y = top + row * step
    const reach = x(Number(goal.reach.split(' ')[1]))
    const isPlotted = peer !== null && peer <= most
    return [
      `<text x="${left - 12}" y="${y + 13}" text-anchor="end">${escaped(goal.what)}</text>`,
      `<rect x="${left}" y="${y}" width="${(Number(x(value)) - left).toFixed(1)}" height="18" class="${isReached(goal, String(value)) ? 'reached' : 'missed'}"/>`,
      `<line x1="${reach}" x2="${reach}" y1="${y - 4}" y2="${y + 22}" class="goal"/>`,
      ...(isPlotted ? [`<circle cx="${x(peer)}" cy="${y + 9}" r="5" class="peer"/>`] : []),
      `<text x="${left + width + 16}" y="${y + 13}">${value.toFixed(2)}</text>`,
    ]
  })
  const height = top + bars.length * step + 16
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 ${height}" role="img" aria-label="Acquire and release, as a part of what the bare client reaches">
<style>
  svg { background: #fff } text { font: 13px system-ui, sans-serif; fill: #1b2328 }
  .reached { fill: #2a7d5f } .missed { fill: #b7791f } .peer { fill: #6b7a85; stroke: #fff } .goal { stroke: #1b2328; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) { svg { background: #111416 } text { fill: #e4e9ec } .goal { stroke: #e4e9ec } .peer { stroke: #111416 } }
</style>
<text x="12" y="26">× the bare client. Bar: leases; green reaches its goal. Line: the goal. Dot: the best of the others.</text>
${lines.join('\n')}
</svg>
`
}

function pairs(
  what: string,
  bench: string,
  title: string,
  column: string,
  [one, many]: readonly [number, number],
): Goal[] {
  const row = LEASES
  return [
    {
      what: `${what}, one after the other`,
      bench,
      table: `${title}, acquire + release, one`,
      row,
      column,
      reach: `≥ ${one.toFixed(2)}`,
    },
    {
      what: `${what}, 64 keys`,
      bench,
      table: `${title}, acquire + release, 64`,
      row,
      column,
      reach: `≥ ${many.toFixed(2)}`,
    },
  ]
}

/** 50 waiters in one process: from the release to the next grant. */
function handoff(what: string, bench: string, limits: readonly [number, number]): Goal[] {
  return (['p50', 'p99'] as const).map((name, n) => ({
    what: `Handoff among 50 waiters, ${what}, ${name} ms`,
    bench,
    table: `${what}, 50 waiters in one process`,
    row: 'leases',
    column: `${name} ms`,
    spread: `spread of ${name}`,
    reach: `≤ ${limits[n]}`,
  }))
}

function goal(what: string, bench: string, table: string, row: string, column: string, reach: string): Goal {
  return { what, bench, table, row, column, reach }
}

function bestPeer(results: Results, goal: Goal): string {
  const [name = '', measured = ''] = bestOf(goal, peersOf(results, goal)) ?? []
  return `${name} ${measured}`.trim()
}

function peerValue(results: Results, goal: Goal): number | null {
  const best = bestOf(goal, peersOf(results, goal))
  return best ? Number(best[1]) : null
}

type Peer = readonly [name: string, measured: string]

function bestOf({ reach }: Goal, peers: readonly Peer[]): Peer | undefined {
  const sorted = peers.toSorted(([, a], [, b]) => Number(a) - Number(b))
  return sorted.at(reach.startsWith('≥') ? -1 : 0)
}

function peersOf(results: Results, goal: Goal): Peer[] {
  const [head = [], ...rows] = tableOf(results, goal).rows
  const column = head.indexOf(goal.column)
  return rows
    .map(([name = '', ...cells]): Peer => [name, cells[column - 1] ?? ''])
    .filter(
      ([name, measured]) => !NO_PEER.test(name) && !/^h(eartbeat|oldfast)/.test(name) && measured !== '',
    )
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
