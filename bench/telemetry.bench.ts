/** What it takes to score a million events, and what a collector costs a lease operation. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createLeases } from '../src/core/index.ts'
import { memoryStore } from '../src/stores/memory.ts'
import { createCollector, type Sink } from '../src/telemetry/index.ts'
import { fileSink } from '../src/telemetry/index-node.ts'
import { printTable, quantile } from './measure.ts'
import { writeLines } from './telemetry/lines.ts'
import type { Reading } from './telemetry/read.ts'

const EVENTS = 1_000_000
const WAYS = ['parse', 'score'] as const
type Way = (typeof WAYS)[number]
const READ_ROUNDS = 5
const COST_ROUNDS = 300
const OPERATIONS_A_ROUND = 300

export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  await compareReading(join(directory, 'day.jsonl'))
  await compareListening(join(directory, 'telemetry'))
  rmSync(directory, { recursive: true })
}

async function compareReading(path: string): Promise<void> {
  const megabytes = writeLines(path, EVENTS) / 1e6
  const readings: Record<Way, Reading[]> = { parse: [], score: [] }
  for (let round = 0; round < READ_ROUNDS; round++)
    for (const way of WAYS) readings[way].push(await readApart(way, path))
  // The quickest of each: whatever else runs on the machine only ever adds to it.
  const best = (way: Way, figure: keyof Reading) =>
    Math.min(...readings[way].map((reading) => reading[figure]))
  const row = (name: string, way: Way) => [
    name,
    ...(['ms', 'cpuMs'] as const).flatMap((figure) => [
      (best(way, figure) / 1000).toFixed(2),
      (best(way, figure) / best('parse', figure)).toFixed(2),
    ]),
    Math.max(...readings[way].map(({ peakMiB }) => peakMiB)).toFixed(0),
  ]
  printTable(`Telemetry, ${EVENTS} events in a file of ${megabytes.toFixed(0)} MB`, [
    ['', 's', '× JSON.parse', 'CPU s', '× JSON.parse', 'peak MiB'],
    row('a bare JSON.parse of each line', 'parse'),
    row('holdfast monitor score', 'score'),
  ])
}

/** In a process of its own, so that its memory is its own too. */
async function readApart(way: Way, path: string): Promise<Reading> {
  const script = join(import.meta.dirname, 'telemetry/read.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [script, way, path])
  return JSON.parse(stdout)
}

/**
 * The time of an acquire and release on the in-memory store, the fastest there is. A collector makes its lines
 * later, when the loop is free; that time is shown for itself.
 */
async function compareListening(directory: string): Promise<void> {
  let lines = 0
  let linesMs = 0
  const counting: Sink = {
    write(records) {
      lines += records.length
    },
  }
  const collector = createCollector({ sinks: [fileSink(directory), counting], interval: 3_600_000 })
  const contenders = [
    { name: 'nobody listens', leases: createLeases(memoryStore()), times: [] as number[] },
    {
      name: 'a listener that does nothing',
      leases: createLeases(memoryStore(), { onEvent: () => {} }),
      times: [] as number[],
    },
    {
      name: 'a collector',
      leases: createLeases(memoryStore(), { onEvent: collector.listen('lease') }),
      times: [] as number[],
    },
  ]
  for (let round = -10; round < COST_ROUNDS; round++) {
    for (const { leases, times } of contenders) {
      const start = performance.now()
      for (let n = 0; n < OPERATIONS_A_ROUND; n++) await (await leases.acquire('x')).release()
      if (round >= 0) times.push(((performance.now() - start) * 1000) / OPERATIONS_A_ROUND)
      const flushed = performance.now()
      await collector.flush()
      linesMs += performance.now() - flushed
    }
  }
  await collector.close()
  const [nobody, idle, collecting] = contenders.map(({ times }) => quantile(times, 0.5)) as [
    number,
    number,
    number,
  ]
  const cost = (µs: number, base: number) => `${((µs / base - 1) * 100).toFixed(1)} %`
  printTable('Telemetry, an acquire and release in memory', [
    ['', 'µs', '+ over nobody', '+ over a listener'],
    ['nobody listens', nobody.toFixed(2), '', ''],
    ['a listener that does nothing', idle.toFixed(2), cost(idle, nobody), ''],
    ['a collector', collecting.toFixed(2), cost(collecting, nobody), cost(collecting, idle)],
  ])
  console.log(
    `  later, off that path: ${((linesMs * 1000) / lines).toFixed(2)} µs to make and write each line`,
  )
}
