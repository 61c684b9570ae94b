import { refuse } from '../../base/arguments.ts'
import { mysqlName } from '../../clients/mysql.ts'

/** MySQL refuses longer names, and the procedures of a table are named after it. */
const MAX_NAME_CHARACTERS = 64
const LONGEST_SUFFIX = '_v5_end_expired'

/** Part of the names of the procedures, so that each version has its own and none is replaced while others call it. */
const PROCEDURES_VERSION = 5

/** The names of everything that belongs to one table of leases, quoted. */
export interface Names {
  /** One row per resource: its last token, and its lease if it is a single exclusive one. */
  readonly table: string
  /** One row per other lease that is live, has expired, or still keeps its resource. */
  readonly holders: string
  /** One row per waiter: the queues of all resources. */
  readonly waiters: string
  /** One row per process that waits or watches. */
  readonly channels: string
  /** What these processes have to be told. Each deletes its own. */
  readonly messages: string
  /** One row: the version, the token floor, until when somebody watches. */
  readonly meta: string
  procedure(name: string, version?: number): string
}

export function namesOf(database: string | undefined, table: string): Names {
  const within = (name: string) => (database === undefined ? '' : `${mysqlName(database)}.`) + mysqlName(name)
  return {
    table: within(table),
    holders: within(`${table}_holders`),
    waiters: within(`${table}_waiters`),
    channels: within(`${table}_channels`),
    messages: within(`${table}_messages`),
    meta: within(`${table}_meta`),
    procedure: (name, version = PROCEDURES_VERSION) => within(`${table}_v${version}_${name}`),
  }
}

export function expectName(option: 'database' | 'table', name: unknown): asserts name is string {
  const max = MAX_NAME_CHARACTERS - (option === 'table' ? LONGEST_SUFFIX.length : 0)
  // MySQL takes neither of these, whatever the quotes: NUL, characters above U+FFFF, and a space at the end.
  const fits = typeof name === 'string' && /^[^\0\u{10000}-\u{10FFFF}]+$/u.test(name) && name.length <= max
  if (!fits || name.endsWith(' ')) refuse(option, `a name of 1 to ${max} characters of the BMP`, name)
}
