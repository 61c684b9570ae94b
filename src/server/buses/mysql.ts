import { expectOptions } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { expectDuration } from '../../base/duration.ts'
import { bytes, MYSQL_CLOCK, type MysqlClient, mysqlText } from '../../clients/mysql.ts'
import { mysqlError } from '../../clients/mysql-errors.ts'
import type { Bus } from '../bus.ts'
import { type MysqlTable, tableOf } from '../mysql.ts'
import { BUS_LATE_MS, BUS_MESSAGES_AT_ONCE, BUS_POLL_MS, KEEP_BUS_MESSAGES_MS } from '../options.ts'
import { createBus, inTurns, type Transport, type TransportContext } from './create-bus.ts'
import { MYSQL_TABLE, type MysqlBusOptions } from './options.ts'

const NOW = `(${MYSQL_CLOCK} div 1000)`

/**
 * A bus on a table of MySQL, which every node reads often. It uses your client and leaves it open.
 *
 * @example
 * const bus = mysqlBus(mysql.createPool('mysql://localhost/app'))
 */
export function mysqlBus(client: MysqlClient, options: MysqlBusOptions = {}): Bus & AsyncDisposable {
  expectOptions(options, { table: 1, poll: 1 })
  const { table = MYSQL_TABLE } = options
  const pollMs = expectDuration('poll', options.poll ?? BUS_POLL_MS, 1)
  return createBus({ name: 'MySQL', explain: mysqlError }, (context) => {
    const columns =
      'seq bigint auto_increment primary key, sent_at bigint not null, text longblob not null, key (sent_at)'
    return new TableTransport(tableOf(client, table, columns, { calls: context.calls }), context, pollMs)
  })
}

class TableTransport implements Transport {
  readonly #table: MysqlTable
  readonly #context: TransportContext
  readonly #pollMs: number
  readonly #send: ReturnType<typeof inTurns>
  /** Messages up to this number were passed on or missed. `undefined`: the next look begins with later ones. */
  #floor: number | undefined
  /** Later messages that were passed on, with the time. */
  readonly #passedOn = new Map<number, number>()
  #deletedAt = -Infinity
  #cancelTimer: (() => void) | undefined

  constructor(table: MysqlTable, context: TransportContext, pollMs: number) {
    this.#table = table
    this.#context = context
    this.#pollMs = pollMs
    this.#send = inTurns((texts) => {
      const rows = texts.map((text) => `(${NOW}, ${bytes(text)})`)
      return table.change(`insert into ${table.name} (sent_at, text) values ${rows.join(', ')}`)
    })
  }

  send(text: string): Promise<unknown> {
    return this.#send(text)
  }

  async listen(): Promise<void> {
    if (this.#floor === undefined) await this.#begin()
    this.#pollLater()
  }

  unlisten(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#floor = undefined
  }

  async #begin(): Promise<void> {
    const [row] = await this.#table.rows(`select coalesce(max(seq), 0) as last from ${this.#table.name}`)
    const { last } = row ?? {}
    this.#passedOn.clear()
    this.#floor = Number(last)
  }

  #pollLater(): void {
    if (!this.#context.isNeeded()) return
    this.#cancelTimer ??= systemClock.setTimer(() => void this.#poll(), this.#pollMs, true)
  }

  async #poll(): Promise<void> {
    try {
      if (this.#floor === undefined) await this.#begin()
      else await this.#look(this.#floor)
    } catch {
      // What is sent until the connection is back is lost, as on every bus.
      this.#floor = undefined
    }
    this.#cancelTimer = undefined
    this.#pollLater()
  }

  async #look(floor: number): Promise<void> {
    const { name, rows, change } = this.#table
    const known = this.#passedOn.size > 0 ? `and seq not in (${[...this.#passedOn.keys()].join(', ')})` : ''
    const found = await rows(
      `select seq, text from ${name} where seq > ${floor} ${known} order by seq limit ${BUS_MESSAGES_AT_ONCE}`,
    )
    // The last listener has gone meanwhile.
    if (this.#floor !== floor) return
    const now = systemClock.monotonic()
    for (const { seq, text } of found) {
      this.#passedOn.set(Number(seq), now)
      this.#context.received(mysqlText(text))
    }
    for (const [seq, at] of this.#passedOn) {
      if (now - at < BUS_LATE_MS) continue
      this.#passedOn.delete(seq)
      this.#floor = Math.max(this.#floor ?? 0, seq)
    }
    if (now - this.#deletedAt < KEEP_BUS_MESSAGES_MS) return
    this.#deletedAt = now
    await change(
      `delete from ${name} where sent_at < ${NOW} - ${KEEP_BUS_MESSAGES_MS} limit ${BUS_MESSAGES_AT_ONCE}`,
    )
  }
}
