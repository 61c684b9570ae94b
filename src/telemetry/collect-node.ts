/** Collects on Node: from an input stream, and at the exit of the process. */

import { onAbort } from '../base/abort.ts'
import {
  type Checks,
  checkEach,
  expectBoolean,
  expectMethods,
  expectOneOf,
  expectSignal,
  expectText,
  refuse,
} from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { type Collector, createCollector } from './collector.ts'
import type { TelemetryEvent } from './encode-event.ts'
import { fileSink } from './file-sink-node.ts'
import { countOf } from './health-text.ts'
import {
  expectFiles,
  type MonitorResult,
  readFileLines,
  readLines,
  refuseFile,
  reportBadInput,
  toJson,
} from './monitor-node.ts'
import type { CollectOptions } from './options.ts'
import {
  isRecord,
  onlyKnownFields,
  parseLine,
  STREAMS,
  type StreamName,
  type TelemetryRecord,
} from './record.ts'

/** How the event types of a stream begin. Types of lease events have no common prefix. */
const PREFIXES: readonly (readonly [prefix: string, stream: StreamName])[] = [
  ['lock:', 'project'],
  ['autosave', 'autosave'],
  ['document.', 'document'],
  ['sync', 'sync'],
]

/**
 * Writes events from the input as records into a folder. Exit code 2 if the input has lines but no event.
 *
 * @example
 * const { exitCode } = await collect({ files: ['events.ndjson'], directory: 'telemetry' })
 */
export async function collect(options: CollectOptions): Promise<MonitorResult> {
  checkEach(options, CHECKS)
  const { input, files } = options
  if ((input === undefined) === (files === undefined))
    throw new LeaseError('invalid-argument', 'expected one of input and files')
  return reportBadInput(async () => {
    const counts = await collectInput(options)
    const { written, skipped } = counts
    return {
      exitCode: written === 0 && skipped > 0 ? 2 : 0,
      stdout: options.json
        ? toJson(counts)
        : `wrote ${countOf(written, 'event')}, skipped ${countOf(skipped, 'line')}\n`,
      stderr: '',
    }
  })
}

const CHECKS: Checks<CollectOptions> = {
  input(option, value) {
    if (typeof Object(value)[Symbol.asyncIterator] !== 'function') refuse(option, 'an AsyncIterable', value)
  },
  files: expectFiles,
  directory: expectText,
  stream: (option, value) => expectOneOf(option, value, STREAMS),
  signal: expectSignal,
  json: expectBoolean,
}

/** Encodes events, and writes records as they are. */
async function collectInput(options: CollectOptions): Promise<{ written: number; skipped: number }> {
  const { input, files = [], directory = 'telemetry', stream = 'lease', signal } = options
  let written = 0
  const folder = fileSink(directory)
  const sink = {
    ...folder,
    write(records: readonly TelemetryRecord[]) {
      folder.write(records)
      written += records.length
    },
  }
  let lines = 0
  let failure: unknown
  const onError = (error: unknown) => {
    // The first error is the cause. Later ones, such as dropped records, follow from it.
    failure ??= error
  }
  const collector = createCollector({ sinks: [sink], onError })
  const listeners = Object.fromEntries(
    STREAMS.map((name) => [name, collector.listen(name, { recorded: true })]),
  ) as Record<StreamName, (event: TelemetryEvent) => void>
  // With a signal, the caller ends the collection before the process exits.
  const stopFlushing = signal ? () => {} : flushOnExit(collector)
  const listener = { onLine, onLastLine: onLine, onHuge: () => lines++ }
  try {
    if (input) await readLines(signal ? untilAborted(input, signal) : input, listener)
    for (const file of files) {
      if (signal?.aborted) break
      await readFileLines(file, listener).catch((cause) => refuseFile(file, cause))
    }
  } finally {
    stopFlushing()
    await collector.close()
  }
  if (failure) throw failure
  // Also events of which the collector makes no record.
  return { written, skipped: lines - written }

  function onLine(line: string): void {
    lines++
    const value = parseLine(line)
    if (isRecord(value)) sink.write([onlyKnownFields(value)])
    else if (isEvent(value)) listeners[streamOf(value.type, stream)](value)
  }
}

/** Ends at once when the signal aborts, also if the input never gives another chunk. */
async function* untilAborted<T>(input: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = input[Symbol.asyncIterator]()
  let stop = () => {}
  const unlisten = onAbort(signal, () => stop())
  try {
    while (!signal.aborted) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        stop = () => resolve({ done: true, value: undefined })
        iterator.next().then(resolve, reject)
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    unlisten()
  }
}

function isEvent(value: unknown): value is TelemetryEvent {
  return typeof (value as TelemetryEvent | null)?.type === 'string' && !('v' in (value as object))
}

function streamOf(type: string, otherwise: StreamName): StreamName {
  return PREFIXES.find(([prefix]) => type.startsWith(prefix))?.[1] ?? otherwise
}

const EXIT_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Flushes a collector when the process exits or gets SIGTERM, SIGINT or SIGHUP. Returns a function that stops this.
 * A process without its own handler for the signal still ends by the signal.
 *
 * @example
 * const collector = createCollector({ sinks: [fileSink('telemetry')] })
 * flushOnExit(collector)
 */
export function flushOnExit(collector: Pick<Collector, 'flush'>): () => void {
  expectMethods('collector', collector, 'a Collector', 'flush')
  const flush = () => {
    collector.flush()
  }
  const onSignal = (signal: NodeJS.Signals) => {
    flush()
    if (process.listenerCount(signal) > 1) return
    stop()
    process.kill(process.pid, signal)
  }
  // First in the list: a `once` listener that ran before would be gone, and would not be counted.
  for (const signal of EXIT_SIGNALS) process.prependListener(signal, onSignal)
  process.on('exit', flush)
  return stop

  function stop(): void {
    for (const signal of EXIT_SIGNALS) process.off(signal, onSignal)
    process.off('exit', flush)
  }
}
