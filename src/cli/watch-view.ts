/**
 * What `holdfast watch` shows on a terminal. Keys and changes make the next state, and the state is drawn as lines.
 *
 *     list ── Space ──▶ list, with the holders of the selected resource unfolded or folded
 *     list ── / ──▶ filter ── Enter, Esc ──▶ list
 *     list ── Enter ──▶ inspect ── any key ──▶ list
 *     list ── r ──▶ confirm ── y: released, any other key: not ──▶ list
 */
import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQuery, WaitingQueue } from '../core/index.ts'
import { resourceDetails } from './describe-lease.ts'
import { NOTHING_HELD } from './lease-table.ts'
import type { LeaseChange } from './live-leases.ts'
import {
  CHANGE_WIDTH,
  COLUMN_GAP,
  NARROWEST_NAME,
  PROBLEM_LINES,
  RATE_MS,
  SHOWN_CHANGES,
  SHOWN_WAITERS,
} from './options.ts'
import { alignColumns, cut, printable, type Terminal, width, wrapped } from './terminal.ts'
import { linesOf, SORT_NAMES, type Sort, type WatchLine, watchTable } from './watch-table.ts'

const COLOURS = {
  held: 'green',
  renewed: 'green',
  released: 'dim',
  expired: 'yellow',
  'taken-over': 'red',
  kept: 'yellow',
  freed: 'dim',
} as const

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
  /** Resources whose holders have a line each. */
  readonly #unfolded = new Set<string>()
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
    this.#recent.length = Math.min(this.#recent.length, SHOWN_CHANGES)
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
    const problem = wrapped(printable(this.#problem), terminal.columns)
    const above = [
      terminal.style('bold', within(`holdfast watch  ${printable(this.#title)}`)),
      fitting(this.#summary(leases, shown, now), terminal.columns),
      ...problem.slice(0, PROBLEM_LINES).map((line) => terminal.style('red', line)),
      '',
    ]
    const below = [...this.#recentLines(terminal), '', terminal.style('dim', this.#hint(terminal.columns))]
    const rows = terminal.rows - above.length - below.length
    const middle =
      this.#mode === 'inspect' ? this.#details(leases, terminal, rows) : this.#table(shown, terminal, rows)
    return [...above, ...middle, ...below].slice(0, terminal.rows)
  }

  #pressInList(key: string, shown: readonly WatchLine[]): KeyEffect | undefined {
    const line = shown[this.#selected]
    if (key === 'q') return { type: 'quit' }
    if (KEYS.up.includes(key)) this.#selected--
    if (KEYS.down.includes(key)) this.#selected++
    if (key === 's') this.#sort = SORT_NAMES[(SORT_NAMES.indexOf(this.#sort) + 1) % SORT_NAMES.length] as Sort
    if (key === '/') this.#mode = 'filter'
    if (KEYS.escape.includes(key)) this.#filter = ''
    this.#chosen = line?.leases[0]
    if (line && key === ' ') this.#fold(line)
    if (line && KEYS.enter.includes(key)) this.#mode = 'inspect'
    if (line && key === 'r') {
      if (line.leases.length === 1) this.#mode = 'confirm'
      else this.#message = `${line.holders} hold it: Space shows them, then select the one to release.`
    }
    return undefined
  }

  #fold({ resource, holders }: WatchLine): void {
    if (!this.#unfolded.delete(resource) && holders > 1) this.#unfolded.add(resource)
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
  #shown(leases: readonly LeaseRecord[]): readonly WatchLine[] {
    const wanted = this.#filter.toLowerCase()
    const found = leases.filter(({ resource, owner }) =>
      `${resource} ${owner}`.toLowerCase().includes(wanted),
    )
    return linesOf(found, this.#sort, this.#unfolded)
  }

  /** The most important part first. */
  #summary(leases: readonly LeaseRecord[], shown: readonly WatchLine[], now: Date): string[] {
    const from = now.getTime() - RATE_MS
    while (this.#counted[0] && this.#counted[0].at < from) this.#counted.shift()
    const perMinute = (wanted: (type: LeaseChange['type']) => boolean) =>
      this.#counted.filter(({ type }) => wanted(type)).length
    const count = leases.length === 1 ? '1 lease' : `${leases.length} leases`
    const found = shown.reduce((sum, line) => sum + (line.isOneOfSeveral ? 0 : line.holders), 0)
    return [
      clockTime(now),
      found === leases.length ? count : `${found} of ${count}`,
      `${perMinute((type) => type === 'held')} granted/min`,
      `${perMinute((type) => type === 'expired' || type === 'taken-over')} lost/min`,
      `${perMinute((type) => type === 'released')} released/min`,
    ]
  }

  /** The chosen lease, and those that share its resource. */
  #details(leases: readonly LeaseRecord[], terminal: Terminal, rows: number): string[] {
    const { resource, token } = this.#chosen ?? {}
    const holders = leases.filter((lease) => lease.resource === resource)
    const chosen = holders.find((lease) => lease.token === token)
    if (!chosen) return ['This lease has ended.']
    this.#drawn = [chosen.resource]
    const others = holders.filter((lease) => lease !== chosen)
    const queue = this.#queues.get(chosen.resource)
    const describe = (shown: number) =>
      resourceDetails([chosen, ...others], terminal, queue, {
        columns: terminal.columns,
        shown,
        isStale: this.#problem !== '',
      })
    for (let shown = holders.length; shown > 0; shown--) {
      const lines = describe(shown)
      if (lines.length <= rows) return lines
    }
    return describe(1).slice(0, rows)
  }

  /** The part of the table around the selected lease. */
  #table(shown: readonly WatchLine[], terminal: Terminal, rows: number): string[] {
    if (shown.length === 0)
      return [cut(this.#filter ? 'No lease matches the filter.' : NOTHING_HELD, terminal.columns)]
    const isAll = shown.length < rows
    // Without the heading, and without the line that says which part this is.
    const space = Math.max(1, rows - (isAll ? 1 : 2))
    const first = Math.max(0, this.#selected - space + 1)
    const visible = shown.slice(first, first + space)
    this.#drawn = [...new Set(visible.map(({ resource }) => resource))]
    const [heading, ...lines] = watchTable(visible, {
      waiters: new Map(Array.from(this.#queues, ([resource, { count }]) => [resource, count])),
      isStale: this.#problem !== '',
      // Two for the mark of the selected line.
      columns: terminal.columns - 2,
    })
    const marked = lines.map((line, index) =>
      first + index === this.#selected ? terminal.style('bold', `> ${line}`) : `  ${line}`,
    )
    const rest = `  ${first + 1} to ${first + visible.length} of ${shown.length}`
    return [
      terminal.style('dim', `  ${heading}`),
      ...marked,
      ...(isAll ? [] : [terminal.style('dim', cut(rest, terminal.columns))]),
    ]
  }

  #recentLines(terminal: Terminal): string[] {
    if (this.#recent.length === 0) return []
    const half = Math.max(NARROWEST_NAME, Math.floor((terminal.columns - CHANGE_WIDTH) / 2))
    const rows = this.#recent.map(({ time, change: { type, lease } }) => [
      time,
      terminal.style(COLOURS[type], type),
      cut(printable(lease.resource), half),
      cut(printable(lease.owner), half),
    ])
    return ['', terminal.style('dim', 'RECENT'), ...alignColumns(rows)]
  }

  #hint(columns: number): string {
    if (this.#message) return cut(this.#message, columns)
    if (this.#mode === 'filter')
      return fitting([`filter: ${this.#filter}_`, 'Enter keeps it', 'Esc clears it'], columns)
    if (this.#mode === 'inspect') return 'any key goes back'
    if (this.#mode === 'confirm' && this.#chosen) {
      const { resource, owner } = this.#chosen
      // The question is last, and must be seen.
      const who = `End the lease of ${printable(resource)}, held by ${printable(owner)}`
      return `${cut(who, columns - 5)}? y/N`
    }
    const keys = ['q quit', '↑↓ select', 'Enter inspect', 'r release', '/ filter', 'Space unfold']
    return fitting([...keys, `s sort (${this.#sort})`], columns)
  }
}

/** As many of the parts as the line can take, from the first on. */
function fitting(parts: readonly string[], columns: number): string {
  let line = ''
  for (const part of parts) {
    const longer = line === '' ? part : line + ' '.repeat(COLUMN_GAP) + part
    if (width(longer) > columns) break
    line = longer
  }
  return line || cut(parts[0] ?? '', columns)
}

function clockTime(now: Date): string {
  return now.toTimeString().slice(0, 8)
}
