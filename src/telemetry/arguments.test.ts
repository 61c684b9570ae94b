/** Every public function refuses invalid arguments with one kind of error, which says what is wrong. */
import { describe, expect, it } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import {
  Analysis,
  checkHealth,
  createCollector,
  httpSink,
  incidentMarkdown,
  makeThresholds,
  openTelemetrySink,
  opfsBuffer,
  pagerDutyEvent,
  postJson,
  renderReport,
  slackMessage,
} from './index.ts'
import { collect, fileSink, flushOnExit, report, score } from './index-node.ts'

const bare = Object.create(null)
const sinks = [{ write() {} }]
const analysis = new Analysis()
const health = checkHealth(analysis)
const incident = { id: 'incident-x', since: '2030-01-01T00:00:00.000Z', until: null, firings: [] }
async function* noInput() {}
const collector = createCollector({ sinks })

/** JavaScript has no types: a function takes any value. */
type Untyped = (...args: unknown[]) => unknown
type Call = readonly [call: (...args: never[]) => unknown, args: readonly unknown[], message: string]
const construct = (options: unknown) => new Analysis(options as never)

const calls: readonly Call[] = [
  [createCollector, [], 'options: expected an object, got undefined'],
  [createCollector, [10n], 'options: expected an object, got 10n'],
  [createCollector, [{ sinks: Symbol('x') }], 'sinks: expected an array of sinks, got Symbol(x)'],
  [createCollector, [{ sinks: [bare] }], 'sinks[0]: expected a Sink (with write), got an object'],
  [createCollector, [{ sinks, interval: 'soon' }], 'interval: expected whole milliseconds'],
  [createCollector, [{ sinks, interval: 1n }], "or text such as '30s', got 1n"],
  [createCollector, [{ sinks, reveal: 'owner' }], 'reveal: expected an array, got "owner"'],
  [createCollector, [{ sinks, reveal: ['ip'] }], 'reveal[0]: expected "owner" or "resource", got "ip"'],
  [createCollector, [{ sinks, salt: '' }], 'salt: expected a non-empty string, got ""'],
  [
    createCollector,
    [{ sinks, source: 'a b' }],
    'source: expected a letter or digit, then up to 63 letters, digits and _:.+-, got "a b"',
  ],
  [createCollector, [{ sinks, maxWaiting: 0 }], 'maxWaiting: expected a whole number from 1, got 0'],
  [createCollector, [{ sinks, onError: {} }], 'onError: expected a function, got an object'],
  [
    createCollector,
    [{ sinks, clock: null }],
    'clock: expected a Clock (with now, monotonic, setTimer), got null',
  ],
  [
    collector.listen,
    ['leases'],
    'stream: expected "lease" or "project" or "autosave" or "document" or "sync", got "leases"',
  ],
  [collector.listen, [Symbol('s')], 'got Symbol(s)'],
  [collector.listen, ['lease', null], 'options: expected an object, got null'],
  [collector.listen, ['lease', { recorded: 1 }], 'recorded: expected true or false, got 1'],
  [httpSink, [bare], 'url: expected a non-empty string, got an object'],
  [httpSink, ['/x', null], 'options: expected an object, got null'],
  [httpSink, ['/x', { buffer: {} }], 'buffer: expected a RecordBuffer (with append, drain), got an object'],
  [httpSink, ['/x', { fetch: 'get' }], 'fetch: expected a function, got "get"'],
  [httpSink, ['/x', { headers: 1n }], 'headers: expected an object, got 1n'],
  [httpSink, ['/x', { timeout: 0 }], 'timeout: expected whole milliseconds from 1'],
  [opfsBuffer, [{ folder: '' }], 'folder: expected a non-empty string, got ""'],
  [opfsBuffer, [{ maxBytes: '1' }], 'maxBytes: expected a whole number from 1, got "1"'],
  [
    openTelemetrySink,
    [bare],
    'meter: expected a Meter of OpenTelemetry (with createCounter, createHistogram), got an object',
  ],
  [fileSink, [10n], 'directory: expected a non-empty string, got 10n'],
  [fileSink, ['x', { maxFileBytes: 0 }], 'maxFileBytes: expected a whole number from 1, got 0'],
  [fileSink, ['x', { maxTotalBytes: NaN }], 'maxTotalBytes: expected a whole number from 1, got NaN'],
  [fileSink, ['x', { onError: 1 }], 'onError: expected a function, got 1'],
  [fileSink, ['x', { clock: {} }], 'clock: expected a Clock (with now), got an object'],
  [flushOnExit, [{}], 'collector: expected a Collector (with flush), got an object'],
  [construct, [1n], 'options: expected an object, got 1n'],
  [construct, [{ now: 'noon' }], 'now: expected milliseconds since 1970, got "noon"'],
  [construct, [{ maxWindows: 0 }], 'maxWindows: expected a whole number from 1, got 0'],
  [(other) => analysis.merge(other as Analysis), [{}], 'other: expected an Analysis, got an object'],
  [checkHealth, [bare], 'analysis: expected an Analysis (with metrics), got an object'],
  [checkHealth, [analysis, { now: NaN }], 'now: expected milliseconds since 1970, got NaN'],
  [checkHealth, [analysis, { thresholds: null }], 'thresholds: expected an object, got null'],
  [makeThresholds, [10n], 'thresholds: expected an object, got 10n'],
  [incidentMarkdown, [{}, health], 'incident: expected an incident of checkHealth, got an object'],
  [incidentMarkdown, [incident, null], 'health: expected the result of checkHealth, got null'],
  [renderReport, [Symbol('s'), 0], 'health: expected the result of checkHealth, got Symbol(s)'],
  [renderReport, [health, Infinity], 'now: expected milliseconds since 1970, got Infinity'],
  [slackMessage, [undefined], 'incident: expected an incident of checkHealth, got undefined'],
  [pagerDutyEvent, [incident, 1n], 'routingKey: expected a non-empty string, got 1n'],
  [postJson, ['/hook?secret', {}], 'url: expected an absolute URL, got a string'],
  [postJson, ['http://x', 1n], 'body: expected an object, got 1n'],
  [postJson, ['http://x', {}, { attempts: 0 }], 'attempts: expected a whole number from 1, got 0'],
  [postJson, ['http://x', {}, { timeout: '1x' }], 'timeout: expected whole milliseconds from 1'],
  [postJson, ['http://x', {}, { fetch: {} }], 'fetch: expected a function, got an object'],
  [postJson, ['http://x', {}, { clock: 1 }], 'clock: expected a Clock (with setTimer), got 1'],
  [collect, [], 'options: expected an object, got undefined'],
  [collect, [{ input: [] }], 'input: expected an AsyncIterable, got an array'],
  [collect, [{ input: noInput(), directory: 1n }], 'directory: expected a non-empty string, got 1n'],
  [collect, [{ input: noInput(), stream: 'x' }], 'stream: expected "lease" or'],
  [collect, [{ input: noInput(), signal: {} }], 'signal: expected an AbortSignal, got an object'],
  [score, [10n], 'options: expected an object, got 10n'],
  [score, [{ files: 'a.jsonl' }], 'files: expected an array of paths, got "a.jsonl"'],
  [score, [{ files: [bare] }], 'files[0]: expected a non-empty string, got an object'],
  [score, [{ config: Symbol('s') }], 'config: expected a non-empty string, got Symbol(s)'],
  [score, [{ thresholds: { clear_at: 2 } }], 'clear_at: expected a number above 0 and up to 1, got 2'],
  [score, [{ thresholds: {}, config: 'x.toml' }], 'config: expected only one of config and thresholds'],
  [score, [{ now: '0' }], 'now: expected milliseconds since 1970, got "0"'],
  [score, [{ onProgress: true }], 'onProgress: expected a function, got true'],
  [report, [{ json: 'yes' }], 'json: expected true or false, got "yes"'],
  [report, [{ reports: 5 }], 'reports: expected a non-empty string, got 5'],
  [report, [{ slackUrl: 'hooks/secret' }], 'slackUrl: expected an absolute URL, got a string'],
  [report, [{ pagerDutyUrl: bare }], 'pagerDutyUrl: expected an absolute URL, got an object'],
  [report, [{ pagerDutyKey: 5 }], 'pagerDutyKey: expected a string, got 5'],
]

describe('an invalid argument', () => {
  it.each(calls.map(([call, args, message]) => ({ message, call, args })))(
    '$message',
    async ({ message, call, args }) => {
      const error = await Promise.resolve()
        .then(() => (call as Untyped)(...args))
        .catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(LeaseError)
      expect(error).toMatchObject({ code: 'invalid-argument', message: expect.stringContaining(message) })
    },
  )
})
