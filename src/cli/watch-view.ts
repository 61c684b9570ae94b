/**
 * What `holdfast watch` shows on a terminal. Keys and changes make the next state, and the state is drawn as lines.
 *
 *     list ── / ──▶ filter ── Enter, Esc ──▶ list
 *     list ── Enter ──▶ inspect ── any key ──▶ list
 *     list ── r ──▶ confirm ── y: released, any other key: not ──▶ list
 */
import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQuery, WaitingQueue } from '../core/index.ts'
import { resourceDetails } from './describe-lease.ts'
import { countHolders, leaseTable, NOTHING_HELD } from './lease-table.ts'
import type { LeaseChange } from './live-leases.ts'
import { alignColumns, cut, printable, type Terminal } from './terminal.ts'

const RECENT_SHOWN = 8
const SHOWN_WAITERS = 10
/** Rates are counted over this time. */
const RATE_MS = 60_000

const COLOURS = {
  held: 'green',
  renewed: 'green',
  released: 'dim',
  expired: 'yellow',
  'taken-over': 'red',
} as const

const SORTS = {
  resource: (a: LeaseRecord, b: LeaseRecord) => compare(a.resource, b.resource) || a.token - b.token,
  holder: (a: LeaseRecord, b: LeaseRecord) => compare(a.owner, b.owner),
  'held for': (a: LeaseRecord, b: LeaseRecord) => a.acquiredAt - b.acquiredAt,
  left: (a: LeaseRecord, b: LeaseRecord) => (a.remaining ?? Infinity) - (b.remaining ?? Infinity),
}
type Sort = keyof typeof SORTS
const SORT_NAMES = Object.keys(SORTS) as Sort[]

const KEYS = {
  up: ['\x1b[A', 'k'],
  down: ['\x1b[B', 'j'],
  enter: ['\r', '\n'],
  escape: ['\x1b'],
  backspace: ['\x7f', '\b'],
  /** A raw terminal sends Ctrl-C and Ctrl-D as ordinary keys. */
  stop: ['\x03', '\x04'],
}

/** What the screen must do after a key. */
export type KeyEffect = { readonly type: 'quit' } | { readonly type: 'release'; readonly lease: LeaseRecord }

export class WatchView {
  readonly #title: string
  readonly #recent: { readonly time: string; readonly change: LeaseChange }[] = []
  /** When leases were granted and ended, within the time of the rates. */
  readonly #counted: { readonly at: number; readonly type: LeaseChange['type'] }[] = []
  #mode: 'list' | 'filter' | 'inspect' | 'confirm' = 'list'
  #filter = ''
  #sort: Sort = 'resource'
  #selected = 0
  /** The lease that is inspected, or may be released. */
  #chosen: LeaseRecord | undefined
  #problem = ''
  #message = ''
  /** The resources that were drawn. */
  #drawn: readonly string[] = []
  #queues: ReadonlyMap<string, WaitingQueue> = new Map()

  constructor(title: string) {
    this.#title = title
  }

  addChange(change: LeaseChange, now: Date): void {
    this.#problem = ''
    if (change.type === 'renewed') return
    this.#recent.unshift({ time: clockTime(now), change })
    this.#recent.length = Math.min(this.#recent.length, RECENT_SHOWN)
    this.#counted.push({ at: now.getTime(), type: change.type })
  }

  showProblem(message: string): void {
    this.#problem = message
  }

  showMessage(message: string): void {
    this.#message = message
  }

  /** Whose waiters the screen shows, and how many of each queue. */
  get waitingQuery(): WaitingQuery {
    return { resources: this.#drawn, limit: this.#mode === 'inspect' ? SHOWN_WAITERS : 0 }
  }

  showWaiters({ resources }: WaitingQuery, queues: readonly WaitingQueue[]): void {
    // The store answers again.
    this.#problem = ''
    this.#queues = new Map(resources.flatMap((resource, n) => (queues[n] ? [[resource, queues[n]]] : [])))
  }

  press(key: string, leases: readonly LeaseRecord[]): KeyEffect | undefined {
    this.#message = ''
    if (KEYS.stop.includes(key)) return { type: 'quit' }
    if (this.#mode === 'filter') this.#editFilter(key)
    else if (this.#mode === 'inspect') this.#mode = 'list'
    else if (this.#mode === 'confirm') {
      this.#mode = 'list'
      if (this.#chosen && /^y$/i.test(key)) return { type: 'release', lease: this.#chosen }
    } else return this.#pressInList(key, this.#shown(leases))
    return undefined
  }

  /** The lines of the screen, from top to bottom. None is longer than the terminal is wide. */
  draw(leases: readonly LeaseRecord[], terminal: Terminal, now: Date): string[] {
    const shown = this.#shown(leases)
    this.#selected = Math.max(0, Math.min(this.#selected, shown.length - 1))
    const within = (text: string) => cut(text, terminal.columns)
    const above = [
      terminal.style('bold', within(`holdfast watch  ${printable(this.#title)}`)),
      within(this.#summary(leases, shown, now)),
      ...(this.#problem ? [terminal.style('red', within(this.#problem))] : []),
      '',
    ]
    const below = [...this.#recentLines(terminal), '', terminal.style('dim', within(this.#hint()))]
    const rows = terminal.rows - above.length - below.length
    const middle =
      this.#mode === 'inspect'
        ? this.#details(leases, terminal).slice(0, rows)
        : this.#table(leases, shown, terminal, rows)
    return [...above, ...middle, ...below].slice(0, terminal.rows)
  }

  #pressInList(key: string, shown: readonly LeaseRecord[]): KeyEffect | undefined {
    const lease = shown[this.#selected]
    if (key === 'q') return { type: 'quit' }
    if (KEYS.up.includes(key)) this.#selected--
    if (KEYS.down.includes(key)) this.#selected++
    if (key === 's') this.#sort = SORT_NAMES[(SORT_NAMES.indexOf(this.#sort) + 1) % SORT_NAMES.length] as Sort
    if (key === '/') this.#mode = 'filter'
    if (KEYS.escape.includes(key)) this.#filter = ''
    this.#chosen = lease
    if (lease && KEYS.enter.includes(key)) this.#mode = 'inspect'
    if (lease && key === 'r') this.#mode = 'confirm'
    return undefined
  }

  #editFilter(key: string): void {
    if (KEYS.enter.includes(key)) this.#mode = 'list'
    else if (KEYS.escape.includes(key)) {
      this.#mode = 'list'
      this.#filter = ''
    } else if (KEYS.backspace.includes(key)) this.#filter = this.#filter.slice(0, -1)
    else if (!key.startsWith('\x1b')) this.#filter += printable(key)
  }

  /** Those that the filter lets through, in the chosen order. */
  #shown(leases: readonly LeaseRecord[]): LeaseRecord[] {
    const wanted = this.#filter.toLowerCase()
    return leases
      .filter(({ resource, owner }) => `${resource} ${owner}`.toLowerCase().includes(wanted))
      .sort(SORTS[this.#sort])
  }

  #summary(leases: readonly LeaseRecord[], shown: readonly LeaseRecord[], now: Date): string {
    const from = now.getTime() - RATE_MS
    while (this.#counted[0] && this.#counted[0].at < from) this.#counted.shift()
    const perMinute = (wanted: (type: LeaseChange['type']) => boolean) =>
      this.#counted.filter(({ type }) => wanted(type)).length
    const count = leases.length === 1 ? '1 lease' : `${leases.length} leases`
    return [
      clockTime(now),
      shown.length === leases.length ? count : `${shown.length} of ${count}`,
      `${perMinute((type) => type === 'held')} granted/min`,
      `${perMinute((type) => type === 'released')} released/min`,
      `${perMinute((type) => type === 'expired' || type === 'taken-over')} lost/min`,
    ].join('  ')
  }

  /** The chosen lease, and those that share its resource. */
  #details(leases: readonly LeaseRecord[], terminal: Terminal): string[] {
    const { resource, token } = this.#chosen ?? {}
    const holders = leases.filter((lease) => lease.resource === resource)
    const chosen = holders.find((lease) => lease.token === token)
    if (!chosen) return ['This lease has ended.']
    this.#drawn = [chosen.resource]
    const others = holders.filter((lease) => lease !== chosen)
    const queue = this.#queues.get(chosen.resource)
    return resourceDetails([chosen, ...others], terminal, queue, terminal.columns)
  }

  /** The part of the table around the selected lease. */
  #table(
    leases: readonly LeaseRecord[],
    shown: readonly LeaseRecord[],
    terminal: Terminal,
    rows: number,
  ): string[] {
    if (shown.length === 0)
      return [cut(this.#filter ? 'No lease matches the filter.' : NOTHING_HELD, terminal.columns)]
    const isAll = shown.length < rows
    // Without the heading, and without the line that says which part this is.
    const space = Math.max(1, rows - (isAll ? 1 : 2))
    const first = Math.max(0, this.#selected - space + 1)
    const visible = shown.slice(first, first + space)
    // Two columns for the mark of the selected line.
    const narrower = { ...terminal, columns: terminal.columns - 2 }
    this.#drawn = [...new Set(visible.map(({ resource }) => resource))]
    const waiters = new Map(Array.from(this.#queues, ([resource, { count }]) => [resource, count]))
    const [heading = '', ...lines] = leaseTable(visible, narrower, countHolders(leases), waiters)
    const marked = lines.map((line, index) =>
      first + index === this.#selected ? terminal.style('bold', `> ${line}`) : `  ${line}`,
    )
    const rest = `  ${first + 1} to ${first + visible.length} of ${shown.length}`
    return [`  ${heading}`, ...marked, ...(isAll ? [] : [terminal.style('dim', rest)])]
  }

  #recentLines(terminal: Terminal): string[] {
    if (this.#recent.length === 0) return []
    const half = Math.max(8, Math.floor((terminal.columns - 26) / 2))
    const rows = this.#recent.map(({ time, change: { type, lease } }) => [
      time,
      terminal.style(COLOURS[type], type),
      cut(printable(lease.resource), half),
      cut(printable(lease.owner), half),
    ])
    return ['', terminal.style('dim', 'RECENT'), ...alignColumns(rows)]
  }

  #hint(): string {
    if (this.#message) return this.#message
    if (this.#mode === 'filter') return `filter: ${this.#filter}_  Enter keeps it, Esc clears it`
    if (this.#mode === 'inspect') return 'any key goes back'
    if (this.#mode === 'confirm' && this.#chosen)
      return `End the lease of ${printable(this.#chosen.resource)}, held by ${printable(this.#chosen.owner)}? y/N`
    return `q quit  ↑↓ select  Enter inspect  r release  / filter  s sort (${this.#sort})`
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function clockTime(now: Date): string {
  return now.toTimeString().slice(0, 8)
}
