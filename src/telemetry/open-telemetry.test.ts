import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { expect, it } from 'vitest'
import { record } from '../../test/telemetry/records.ts'
import { openTelemetrySink } from './open-telemetry.ts'

it('the OpenTelemetry listener updates the instruments of its SDK', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 })
  const provider = new MeterProvider({ readers: [reader] })
  openTelemetrySink(provider.getMeter('holdfast')).write([
    record('lock:acquired', 0, { backend: 'web', attempts: 2, waitedMs: 1500, returned: true }),
    record('acquired', 0, { stream: 'lease', attempts: 1, waitedMs: 500 }),
    record('lock:error', 0, { backend: 'fallback', operation: 'acquire', retryable: false, attempts: 5 }),
    record('lock:renewed', 0, { leftMs: 20_000 }),
    record('lock:error', 0, { operation: 'renew', retryable: true }),
    record('lock:waiting', 0, { delayMs: 500 }),
    record('lock:warning', 0, { warning: 'heartbeat-delayed' }),
    record('lock:readonly-entered', 0),
    record('lock:released', 0, { releaseMs: 4 }),
    // The name of a method of every object is no known type.
    record('toString', 0),
  ])
  await reader.forceFlush()
  await provider.shutdown()
  const metrics = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  const read = Object.fromEntries(
    metrics.map(({ descriptor, dataPoints }) => [
      `${descriptor.name} ${descriptor.unit}`,
      dataPoints.map(({ attributes, value }) => [
        Object.values(attributes).join(' '),
        typeof value === 'object' && 'sum' in value ? value.sum : value,
      ]),
    ]),
  )
  expect(read).toEqual({
    'holdfast.lock.acquires 1': [
      ['project granted web', 1],
      ['lease granted unknown', 1],
      ['project refused fallback', 1],
    ],
    'holdfast.lock.attempts 1': [
      ['project', 7],
      ['lease', 1],
    ],
    'holdfast.lock.wait s': [
      ['project', 1.5],
      ['lease', 0.5],
    ],
    'holdfast.lock.heartbeats 1': [
      ['project renewed', 1],
      ['project missed', 1],
    ],
    'holdfast.lock.ttl_left s': [['project', 20]],
    'holdfast.lock.release s': [['project', 0.004]],
    'holdfast.lock.backoff s': [['project', 0.5]],
    'autosave.lock.warning 1': [['project heartbeat-delayed', 1]],
    'autosave.lock.readonly 1': [
      ['project returned', 1],
      ['project entered', 1],
    ],
  })
})
