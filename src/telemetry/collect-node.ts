import { createCollector } from './collector.ts'
import type { TelemetryEvent } from './event.ts'
import { flushOnExit } from './exit-node.ts'
import { fileSink } from './file-sink-node.ts'
import type { CollectOptions } from './monitor-options.ts'
import { readLines } from './read-lines-node.ts'
import { STREAMS, type StreamName } from './record.ts'
import { isRecord, onlyKnownFields } from './validate.ts'

/** How the types of a stream begin. Those of leases have no beginning in common. */
const PREFIXES: readonly (readonly [prefix: string, stream: StreamName])[] = [
  ['lock:', 'project'],
  ['autosave', 'autosave'],
  ['document.', 'document'],
  ['sync', 'sync'],
]

/** Takes raw events, which become records, and records, which are written as they are. */
export async function collectInput(options: CollectOptions): Promise<{ written: number; skipped: number }> {
  const { directory = 'telemetry', stream = 'lease', signal } = options
  const sink = fileSink(directory)
  let failure: unknown
  const collector = createCollector({ sinks: [sink], onError: (error) => (failure = error) })
  const listeners = Object.fromEntries(
    STREAMS.map((name) => [name, collector.listen(name, { recorded: true })]),
  ) as Record<StreamName, (event: TelemetryEvent) => void>
  // Who can end the collection by a signal of its own ends it in order.
  const stopFlushing = signal ? () => {} : flushOnExit(collector)
  const counts = { written: 0, skipped: 0 }
  try {
    const input = signal ? untilAborted(options.input, signal) : options.input
    await readLines(input, { onLine, onTorn: onLine, onHuge })
  } finally {
    stopFlushing()
    await collector.close()
  }
  if (failure) throw failure
  return counts

  function onHuge(): void {
    counts.skipped++
  }

  function onLine(line: string): void {
    const value = parse(line)
    if (isRecord(value)) sink.write([onlyKnownFields(value)])
    else if (isEvent(value)) listeners[streamOf(value.type, stream)](value)
    const taken = isRecord(value) || isEvent(value)
    counts[taken ? 'written' : 'skipped']++
  }
}

/** Ends at once, though the input may never give another chunk. */
async function* untilAborted<T>(input: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = input[Symbol.asyncIterator]()
  let stop = () => {}
  signal.addEventListener('abort', () => stop(), { once: true })
  while (!signal.aborted) {
    const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
      stop = () => resolve({ done: true, value: undefined })
      iterator.next().then(resolve, reject)
    })
    if (next.done) return
    yield next.value
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function isEvent(value: unknown): value is TelemetryEvent {
  return typeof (value as TelemetryEvent | null)?.type === 'string' && !('v' in (value as object))
}

function streamOf(type: string, otherwise: StreamName): StreamName {
  return PREFIXES.find(([prefix]) => type.startsWith(prefix))?.[1] ?? otherwise
}
