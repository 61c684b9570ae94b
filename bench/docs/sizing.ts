/** `docs/sizing.md`: what one server carries, from what each call costs it. */
import { markdownTable } from './markdown-table.ts'
import { cellOf, type Results } from './results.ts'

const SERVERS: Readonly<Record<string, string>> = {
  redis: 'Redis',
  postgres: 'Postgres',
  mysql: 'MySQL (MariaDB)',
  etcd: 'etcd, one node',
  http: '`holdfast serve` on SQLite',
}
const TABLE = 'Processor time of the server'
/** A third of the default TTL of 30 s. */
const HEARTBEAT_S = 10
/** A server has other things to do, and peaks. */
const SHARE = 0.5
const COUNTS = [1000, 10_000, 100_000, 1_000_000]

export function sizingPage(results: Results): string {
  const names = Object.keys(SERVERS)
  const microseconds = (row: string, column: string) =>
    Number(cellOf(results, { bench: 'cost', table: TABLE, row, column }))
  const costs = names.map((name) => [
    SERVERS[name] ?? '',
    ...['acquire and release', 'renewal'].map((column) => `${microseconds(name, column)} µs`),
    rounded((SHARE * 1e6) / microseconds(name, 'acquire and release')),
    rounded((SHARE * 1e6 * HEARTBEAT_S) / microseconds(name, 'renewal')),
  ])
  const cores = COUNTS.map((count) => [
    count.toLocaleString('en'),
    `${(count / HEARTBEAT_S).toLocaleString('en')} a second`,
    ...names.map((name) => coresFor((count / HEARTBEAT_S) * microseconds(name, 'renewal'))),
  ])
  return `# Sizing

How much one server carries, from what each call costs its processor. \`npm run bench -- cost --docs\` measures that on your machine and writes this page.

## What a call costs

The processor time of the server for one acquire and release of a free resource, and for one renewal. The other columns are what half a core carries: how many acquire and release a second, and how many leases are held with a TTL of 30 s, which are renewed every ${HEARTBEAT_S} s.

${markdownTable([['', 'acquire and release', 'renewal', 'pairs a second', 'leases held'], ...costs])}

Renewals of one manager go together in one request where the store can (Redis, Postgres, MySQL, SQLite, HTTP), so a lease in a process with many costs less than one in a process of its own. Measured: 2 000 leases of one manager.

## Leases that are held

Cores of the server for the renewals alone, on paper: the costs above, and leases with a TTL of 30 s.

${markdownTable([['leases held', 'renewals', ...names.map((name) => SERVERS[name] ?? '')], ...cores])}

- **A longer TTL costs less.** With \`ttl: '5m'\` the same leases need a tenth. A crashed holder is then noticed ten times later.
- **Redis runs its scripts on one core**, and etcd writes each change to the disks of all its nodes: more than one core of these is not to be had from one server. Use several, by a prefix of the names.
- **The disk**: Postgres and MySQL write each acquire, renewal and release to their log. How many syncs a second a disk carries is often less than what the processor allows.
- **Memory**: a lease that is held is a row or a key of less than 1 kB, so a million take less than 1 GB. [Benchmarks](benchmarks.md#leases-held) has the memory of a manager.
- **Waiting costs nothing while it lasts** where the store pushes: a waiter asks when it begins and when its turn comes.
`
}

function rounded(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en')
}

/** `microseconds` a second. */
function coresFor(microseconds: number): string {
  const cores = microseconds / 1e6
  return cores < 0.01 ? '< 0.01' : Number(cores.toPrecision(2)).toLocaleString('en')
}
