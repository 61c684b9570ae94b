import { expectMethods } from '../base/arguments.ts'
import type { Sink } from './collector.ts'
import { meaningOf, type RecordMeaning, warningKindOf } from './metrics.ts'
import type { TelemetryRecord } from './record.ts'

/** The part of a `Meter` of `@opentelemetry/api` that is used. */
export interface MeterLike {
  createCounter(
    name: string,
    options: { readonly description: string; readonly unit: string },
  ): { add(value: number, attributes: Record<string, string>): void }
  createHistogram(
    name: string,
    options: { readonly description: string; readonly unit: string },
  ): { record(value: number, attributes: Record<string, string>): void }
}

/**
 * Updates instruments of OpenTelemetry from the records of a collector.
 *
 * @example
 * import { metrics } from '@opentelemetry/api'
 * const collector = createCollector({ sinks: [openTelemetrySink(metrics.getMeter('holdfast'))] })
 */
export function openTelemetrySink(meter: MeterLike): Sink {
  expectMethods('meter', meter, 'a Meter of OpenTelemetry', 'createCounter', 'createHistogram')
  const counter = (name: string, description: string) => meter.createCounter(name, { description, unit: '1' })
  const seconds = (name: string, description: string) => {
    const histogram = meter.createHistogram(name, { description, unit: 's' })
    return (ms: number | undefined, attributes: Record<string, string>) => {
      if (ms !== undefined) histogram.record(ms / 1000, attributes)
    }
  }
  const acquires = counter('holdfast.lock.acquires', 'Acquires that ended, by outcome and backend')
  const attempts = counter('holdfast.lock.attempts', 'Attempts of the acquires that ended')
  const waited = seconds('holdfast.lock.wait', 'Time from the call to the end of an acquire')
  const heartbeats = counter('holdfast.lock.heartbeats', 'Renewals, by outcome')
  const left = seconds('holdfast.lock.ttl_left', 'Rest of the TTL at a successful renewal')
  const released = seconds('holdfast.lock.release', 'Time from the request to release to its end')
  const backoff = seconds('holdfast.lock.backoff', 'Pauses before the next attempt')
  const warnings = counter('autosave.lock.warning', 'Warnings, by kind')
  const readonlyChanges = counter('autosave.lock.readonly', 'Begins and ends of the read-only mode')

  const update: Record<RecordMeaning, (record: TelemetryRecord, attributes: Record<string, string>) => void> =
    {
      granted(record, attributes) {
        addAcquire('granted', record, attributes)
        if (record.returned) update['readonly-returned'](record, attributes)
      },
      refused: (record, attributes) => addAcquire('refused', record, attributes),
      renewed(record, attributes) {
        heartbeats.add(1, { ...attributes, outcome: 'renewed' })
        left(record.leftMs, attributes)
      },
      'renewal-failed': (_, attributes) => heartbeats.add(1, { ...attributes, outcome: 'missed' }),
      released: (record, attributes) => released(record.releaseMs, attributes),
      backoff: (record, attributes) => backoff(record.delayMs, attributes),
      warning: (record, attributes) => warnings.add(1, { ...attributes, warning: warningKindOf(record) }),
      'readonly-entered': (_, attributes) => readonlyChanges.add(1, { ...attributes, change: 'entered' }),
      // Saves have their own events and are only the whole of a share in the analysis.
      saved() {},
      'readonly-returned': (_, attributes) => readonlyChanges.add(1, { ...attributes, change: 'returned' }),
    }

  return {
    write(records) {
      for (const record of records) {
        const meaning = meaningOf(record)
        if (meaning) update[meaning](record, { stream: record.stream })
      }
    },
  }

  function addAcquire(outcome: string, record: TelemetryRecord, attributes: Record<string, string>): void {
    acquires.add(1, { ...attributes, outcome, backend: record.backend ?? 'unknown' })
    attempts.add(record.attempts ?? 1, attributes)
    waited(record.waitedMs, attributes)
  }
}
