/** The functions must answer any sequence of requests like the memory store, which is the reference. */
import { it } from 'vitest'
import type { LeaseStore, StoreEvent } from '../../../src/core/index.ts'
import type { FakeClock } from '../../../src/testing/index.ts'
import { expectSameAsMemory, type Processes } from '../same-as-memory.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

/** The memory store sweeps every queue, Postgres only rows that are due. So no run has both waiters and sweeps. */
const cases = [
  { title: 'while some wait', waits: true, sweeps: false },
  { title: 'while some sweep', waits: false, sweeps: true },
]
it.each(cases)('Postgres answers like the memory store $title', async ({ waits, sweeps }) => {
  await expectSameAsMemory({
    runs: 10,
    usesClock: true,
    waits,
    together: true,
    sweeps,
    open: (count, clock) => PostgresProcesses.open(count, clock),
  })
})

/** Stores like those of separate processes. Their tables have the clock of the test. */
class PostgresProcesses implements Processes {
  readonly stores: readonly LeaseStore[]
  readonly #bed: Bed
  readonly #clock: FakeClock
  #channel = ''
  #marks = 0
  #onMark: (id: string) => void = () => {}

  static async open(count: number, clock: FakeClock): Promise<PostgresProcesses> {
    const bed = await makeBed(url)
    const processes = new PostgresProcesses(bed, count, clock)
    await processes.#start()
    return processes
  }

  constructor(bed: Bed, count: number, clock: FakeClock) {
    this.#bed = bed
    this.#clock = clock
    this.stores = Array.from({ length: count }, () => bed.storeOn(bed.pool({ max: 2 })))
  }

  async #start(): Promise<void> {
    const on = (event: StoreEvent) => event.type === 'change' && this.#onMark(event.lease.id)
    for (const store of this.stores) await store.watch(on, { prefix: 'mark' })
    const { admin, table } = this.#bed
    await this.#bed.stopClock()
    // The clock of the test may be ahead of the one that the watches began with.
    const { rows } = await admin.query(`update ${table}_meta set watch_until = 1e18 returning watch_channel`)
    this.#channel = rows[0].watch_channel
    await this.#setClock()
  }

  /** Resolves when every store has received a message that was sent after all others. */
  async delivered(): Promise<void> {
    await this.#setClock()
    const id = String(++this.#marks)
    let left = this.stores.length
    const heard = new Promise<void>((resolve) => {
      this.#onMark = (mark) => mark === id && --left === 0 && resolve()
    })
    const change = JSON.stringify({ resource: 'mark', id, token: 1, share: null, state: 'held' })
    await this.#bed.admin.query('select pg_notify($1, $2)', [this.#channel, change])
    await heard
  }

  async #setClock(): Promise<void> {
    const now = this.#clock.now()
    await this.#bed.admin.query(`update ${this.#bed.schema}.stopped set at = to_timestamp($1 / 1000.0)`, [
      now,
    ])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bed[Symbol.asyncDispose]()
  }
}
