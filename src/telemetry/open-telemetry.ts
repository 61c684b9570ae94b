import type { Sink } from './outbox.ts'
import type { TelemetryRecord } from './record.ts'
import { type Signal, signalOf, warningOf } from './signals.ts'

type Attributes = Record<string, string>

/** What is used of a `Meter` of `@opentelemetry/api`. */
export interface MeterLike {
  createCounter(
    name: string,
    options: InstrumentOptions,
  ): { add(value: number, attributes: Attributes): void }
  createHistogram(
    name: string,
    options: InstrumentOptions,
  ): { record(value: number, attributes: Attributes): void }
}

interface InstrumentOptions {
  readonly description: string
  readonly unit: string
}

/**
 * Feeds the instruments of OpenTelemetry from what a collector hears.
 *
 * @example
 * import { metrics } from '@opentelemetry/api'
 * const collector = createCollector({ sinks: [openTelemetrySink(metrics.getMeter('holdfast'))] })
 */
export function openTelemetrySink(meter: MeterLike): Sink {
  const counter = (name: string, description: string) => meter.createCounter(name, { description, unit: '1' })
  const seconds = (name: string, description: string) => {
    const histogram = meter.createHistogram(name, { description, unit: 's' })
    return (ms: number | undefined, attributes: Attributes) => {
      if (ms !== undefined) histogram.record(ms / 1000, attributes)
    }
  }
  const acquires = counter('holdfast.lock.acquires', 'Acquires that ended, by outcome and backend')
  const attempts = counter('holdfast.lock.attempts', 'Attempts of the acquires that ended')
  const waited = seconds('holdfast.lock.wait', 'From the call to the end of an acquire')
  const heartbeats = counter('holdfast.lock.heartbeats', 'Renewals, by outcome')
  const left = seconds('holdfast.lock.ttl_left', 'What was left of the TTL when a renewal came through')
  const released = seconds('holdfast.lock.release', 'From the request to release until it was done')
  const backoff = seconds('holdfast.lock.backoff', 'Pauses before another attempt')
  const warnings = counter('autosave.lock.warning', 'Warnings, by kind')
  const readonlyChanges = counter('autosave.lock.readonly', 'Changes to read-only and back')

  const onSignal: Record<Signal, (record: TelemetryRecord, attributes: Attributes) => void> = {
    granted(record, attributes) {
      endOfAcquire('granted', record, attributes)
      if (record.returned) onSignal.returned(record, attributes)
    },
    refused: (record, attributes) => endOfAcquire('refused', record, attributes),
    beat(record, attributes) {
      heartbeats.add(1, { ...attributes, outcome: 'renewed' })
      left(record.leftMs, attributes)
    },
    'missed-beat': (_, attributes) => heartbeats.add(1, { ...attributes, outcome: 'missed' }),
    released: (record, attributes) => released(record.releaseMs, attributes),
    backoff: (record, attributes) => backoff(record.delayMs, attributes),
    warning: (record, attributes) => warnings.add(1, { ...attributes, warning: warningOf(record) }),
    'read-only': (_, attributes) => readonlyChanges.add(1, { ...attributes, change: 'entered' }),
    returned: (_, attributes) => readonlyChanges.add(1, { ...attributes, change: 'returned' }),
  }

  return {
    write(records) {
      for (const record of records) {
        const signal = signalOf(record)
        if (signal) onSignal[signal](record, { stream: record.stream })
      }
    },
  }

  function endOfAcquire(outcome: string, record: TelemetryRecord, attributes: Attributes): void {
    acquires.add(1, { ...attributes, outcome, backend: record.backend ?? 'store' })
    attempts.add(record.attempts ?? 1, attributes)
    waited(record.waitedMs, attributes)
  }
}
