import { randomId } from '../../base/random-id.ts'
import { redactAddress } from '../../base/redact.ts'
import { createLeases, type Leases } from '../../core/index.ts'
import { type Command, STORE_OPTIONS, valueOption } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { jsonText } from '../json-text.ts'
import { BENCH_CALLS_AT_ONCE, BENCH_DURATION_MS, BENCH_NUMBER_WIDTH } from '../options.ts'
import { openStore, storeAddress, withStore } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'
import { alignColumns } from '../terminal.ts'

interface Measurement {
  readonly what: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export const bench: Command = {
  usage: 'bench [options] [store]',
  description: `Measures how fast a store is from this machine: acquire and release, renew, and the handoff to a
waiter on another connection. The names of its leases begin with holdfast-bench. The store keeps their rows as
long as those of other released leases.`,
  positionalCount: [0, 1],
  options: {
    duration: valueOption('<duration>', 'how long each measurement takes (default 1s)'),
    ...STORE_OPTIONS,
  },
  examples: [
    ['holdfast bench', 'measure the configured store'],
    ['holdfast bench redis://localhost --duration 5s', 'measure this one, and for longer'],
  ],

  async run({ positionals, settings, terminal }) {
    const address = storeAddress(settings, positionals[0] ?? settings.text('store'))
    const duration = settings.duration('duration', 1) ?? BENCH_DURATION_MS
    const isJson = settings.is('json')
    if (!isJson) terminal.print(terminal.style('bold', redactAddress(address)))
    const step = (what: string) => terminal.step(`measuring ${what}`)
    const measureAll = async ({ store }: OpenedStore) => {
      const leases = createLeases(store)
      const other = await openStore(address)
      try {
        step('acquire + release')
        const alone = await measure('acquire + release', duration, [cycle(leases)])
        step(`acquire + release, ${BENCH_CALLS_AT_ONCE} at once`)
        const together = await measure(
          `acquire + release, ${BENCH_CALLS_AT_ONCE} at once`,
          duration,
          Array.from({ length: BENCH_CALLS_AT_ONCE }, () => cycle(leases)),
        )
        step('renew')
        const renewals = await measureRenewals(leases, duration)
        step('handing over')
        const handoffs = await measureHandoff([leases, createLeases(other.store)], duration)
        return [alone, together, renewals, handoffs]
      } finally {
        await other.close()
      }
    }
    const measurements = await withStore(address, measureAll, { onStep: terminal.step })
    if (isJson) terminal.print(jsonText({ store: redactAddress(address), measurements }))
    else {
      const figures = measurements.map(({ what, perSecond, p50Ms, p99Ms }) => [
        `  ${what}`,
        ...[perSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2)].map((figure) =>
          figure.padStart(BENCH_NUMBER_WIDTH),
        ),
      ])
      const heading = [
        '',
        ...['per s', 'p50 ms', 'p99 ms'].map((name) =>
          terminal.style('dim', name.padStart(BENCH_NUMBER_WIDTH)),
        ),
      ]
      for (const line of alignColumns([heading, ...figures])) terminal.print(line)
    }
    return EXIT.ok
  },
}

function newResource(): string {
  return `holdfast-bench-${randomId()}`
}

function cycle(leases: Leases): () => Promise<void> {
  const resource = newResource()
  return async () => {
    const lease = await leases.acquire(resource)
    await lease.release()
  }
}

async function measureRenewals(leases: Leases, duration: number): Promise<Measurement> {
  await using lease = await leases.acquire(newResource())
  return await measure('renew', duration, [() => lease.renew()])
}

/** The time from each call of release to the grant of the waiter. */
async function measureHandoff(managers: readonly Leases[], duration: number): Promise<Measurement> {
  const resource = newResource()
  const times: number[] = []
  const end = performance.now() + duration
  let holder = await managers[0]?.acquire(resource)
  for (let round = 1; performance.now() < end || times.length === 0; round++) {
    const manager = managers[round % managers.length] as Leases
    const isWaiting = new Promise<void>((resolve) => {
      const unsubscribe = manager.subscribe(({ type }) => {
        if (type !== 'waiting') return
        unsubscribe()
        resolve()
      })
    })
    const next = manager.acquire(resource)
    await isWaiting
    const released = performance.now()
    await holder?.release()
    holder = await next
    times.push(performance.now() - released)
  }
  await holder?.release()
  return summary(
    'handoff to a waiter',
    times,
    times.reduce((sum, time) => sum + time, 0),
  )
}

async function measure(
  what: string,
  duration: number,
  operations: readonly (() => Promise<void>)[],
): Promise<Measurement> {
  const times: number[] = []
  const started = performance.now()
  await Promise.all(
    operations.map(async (operate) => {
      // The first call prepares statements and connections, and is not measured.
      await operate()
      do {
        const begun = performance.now()
        await operate()
        times.push(performance.now() - begun)
      } while (performance.now() - started < duration)
    }),
  )
  return summary(what, times, performance.now() - started)
}

function summary(what: string, times: readonly number[], elapsedMs: number): Measurement {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  return { what, perSecond: (times.length * 1000) / elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) }
}
