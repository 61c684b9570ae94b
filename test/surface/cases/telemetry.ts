import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as opentelemetry from '@opentelemetry/api'
import { createLeases, systemClock } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { createOnce, createTaskHandler, memoryJobs } from 'holdfast/once'
import {
  Analysis,
  checkHealth,
  createCollector,
  httpSink,
  incidentMarkdown,
  isRecord,
  makeThresholds,
  openTelemetrySink,
  pagerDutyEvent,
  postJson,
  receiveTelemetry,
  renderReport,
  type Sink,
  slackMessage,
  type TelemetryRecord,
} from 'holdfast/telemetry'
import { collect, fileSink, flushOnExit, openTelemetryTracing, report, score } from 'holdfast/telemetry/node'

const LINE = '{"v":1,"at":"2030-01-01T12:00:00.000Z","stream":"lease","type":"acquired","waitedMs":12}'
const NOW = Date.parse('2030-01-01T12:20:00.000Z')
const THRESHOLDS = { enter_after: 1, clear_after: 2, clear_at: 0.8, rules: { success_rate: { below: 0.5 } } }

/** Answers every request with 200. */
const accepts: typeof fetch = async () => new Response('{}')

/** Collects, scores and reports, in memory and in files, as docs/telemetry.md does. */
export async function telemetryCase(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-surface-'))
  try {
    await collects(directory)
    analyses()
    await sendsAlerts()
    await scoresFiles(directory)
    await traces()
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function collects(directory: string): Promise<void> {
  const taken: TelemetryRecord[] = []
  const sinks: Sink[] = [
    { write: (records) => void taken.push(...records) },
    openTelemetrySink(opentelemetry.metrics.getMeter('surface')),
  ]
  await using collector = createCollector({ sinks })
  const stop = flushOnExit(collector)
  await using store = memoryStore()
  await using leases = createLeases(store, { onEvent: collector.listen('lease') })
  await leases.withLease('invoice:42', () => {})
  await collector.flush()
  assert(isRecord(taken[0]))
  stop()
  await collector.close()

  await using files = fileSink(join(directory, 'other'), {
    ...{ maxFileBytes: 100_000, maxTotalBytes: 1_000_000, clock: systemClock, onError: () => {} },
  })
  await using other = createCollector({
    ...{ sinks: [files], interval: '1s', reveal: ['owner'], salt: 'salt', source: 'surface' },
    ...{ maxWaiting: 100, onError: () => {}, clock: systemClock },
  })
  const listen = other.listen('lease', { recorded: true, backend: 'memory' })
  listen({ type: 'attempt' })
  await other.flush()
  for (const sink of sinks) await sink.close?.()

  const record: TelemetryRecord = JSON.parse(LINE)
  await using plain = fileSink(join(directory, 'telemetry'))
  await plain.write([record])
  await plain.close()
  const batch = receiveTelemetry({ events: [record] })
  assert(batch.ok)
  await sendsBatches(record)
}

async function sendsBatches(record: TelemetryRecord): Promise<void> {
  const waiting: TelemetryRecord[] = []
  const sink = httpSink('http://127.0.0.1:9/telemetry', {
    ...{ fetch: accepts, headers: { authorization: 'Bearer token' }, timeout: '1s' },
    buffer: {
      append: async (records) => waiting.push(...records),
      drain: async (take) => void (await take(waiting.splice(0))),
    },
  })
  await sink.write([record])
  await sink.close?.()
  const meter = openTelemetrySink(opentelemetry.metrics.getMeter('surface'))
  await meter.write(
    [record],
    () => {},
    () => {},
  )
  assert(httpSink('http://127.0.0.1:9/telemetry'))
}

function analyses(): void {
  const analysis = new Analysis()
  analysis.addLine(LINE)
  analysis.add(JSON.parse(LINE))
  const other = new Analysis({ now: NOW, maxWindows: 10 })
  other.addLastLine(LINE)
  other.skip('broken')
  analysis.merge(other)
  assert.equal(analysis.metrics().length, 1)
  assert.equal(checkHealth(analysis).status, 'healthy')
  const health = checkHealth(analysis, { thresholds: THRESHOLDS, now: NOW })
  assert.match(renderReport(health, NOW), /<html/)
  assert.equal(makeThresholds(THRESHOLDS).clear_after, 2)
  const since = '2030-01-01T12:00:00.000Z'
  const incident = { id: 'Incident-001', since, until: null, firings: [] }
  assert.match(incidentMarkdown(incident, health), /Incident-001/)
}

async function sendsAlerts(): Promise<void> {
  const since = '2030-01-01T12:00:00.000Z'
  const incident = { id: 'Incident-001', since, until: null, firings: [] }
  const options = { fetch: accepts, clock: systemClock, attempts: 2, timeout: '1s' } as const
  await postJson('http://127.0.0.1:9/', slackMessage(incident), options)
  await postJson('http://127.0.0.1:9/', pagerDutyEvent(incident, 'key'), options)
  const { url, close } = await listens()
  await postJson(url, {})
  close()
}

async function listens(): Promise<{ url: string; close(): void }> {
  const { createServer } = await import('node:http')
  const server = createServer((_, response) => response.end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address instanceof Object ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function scoresFiles(directory: string): Promise<void> {
  const telemetry = join(directory, 'telemetry')
  const reports = join(directory, 'reports')
  const config = join(directory, 'thresholds.json')
  writeFileSync(config, JSON.stringify(THRESHOLDS))
  const lines = async function* () {
    yield `${LINE}\n`
  }
  const { signal } = new AbortController()
  await collect({ input: lines(), directory: telemetry, stream: 'lease', signal, json: true })
  const shared = { now: NOW, json: true, onProgress: () => {} }
  const file = join(directory, 'one.jsonl')
  writeFileSync(file, `${LINE}\n`)
  await collect({ files: [file], directory: telemetry })
  await score({ directory: telemetry, thresholds: THRESHOLDS, ...shared })
  await score({ files: [file], config, ...shared })
  await report({ directory: telemetry, thresholds: THRESHOLDS, reports, ...shared })
  const alerts = { slackUrl: 'http://127.0.0.1:9/', pagerDutyKey: 'key', pagerDutyUrl: 'http://127.0.0.1:9/' }
  await report({ files: [file], config, reports, ...alerts, ...shared })
  const previous = process.cwd()
  process.chdir(directory)
  await score()
  await report()
  process.chdir(previous)
}

async function traces(): Promise<void> {
  const tracing = openTelemetryTracing(opentelemetry)
  assert(openTelemetryTracing(opentelemetry, { names: false }))
  await using store = tracing.store(memoryStore())
  await using leases = tracing.leases(createLeases(store))
  await leases.withLease('traced', () => {})
  const jobs = memoryJobs()
  await using once = tracing.once(createOnce(jobs))
  await jobs.add('traced')
  await once.run('traced', () => 1)
  const handler = createTaskHandler(once, { work: () => 1, authorize: 'everyone' })
  tracing.handler(handler)
  tracing.handler(handler, 'tasks')
  tracing.headers()
}
