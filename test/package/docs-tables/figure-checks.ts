import { Registry } from 'prom-client'
import { prometheusMeter } from '../../../src/server/node/index.ts'
import { DEFAULT_THRESHOLDS, openTelemetrySink } from '../../../src/telemetry/index.ts'
import { code, type ExpectedRow, PROSE, type TableCheck } from './compare-table.ts'
import { asCell, membersOf } from './declarations.ts'

const TELEMETRY = 'docs/telemetry.md'

export const FIGURE_CHECKS: readonly TableCheck[] = [
  {
    table: 'docs/server.md#Figures',
    about: 'the figure',
    rows: () => [
      ...prometheusFigures(),
      [
        '`process_…`, `nodejs_…`',
        '',
        '',
        'CPU, memory, event loop, garbage collection. With a registry of yours they are yours to collect',
      ],
    ],
  },
  {
    table: `${TELEMETRY}#Metrics`,
    about: 'the instrument',
    isOrdered: true,
    rows: instruments,
  },
  {
    table: `${TELEMETRY}#Score`,
    about: 'the metric',
    rows: () =>
      membersOf('src/telemetry/metrics.ts', 'WindowMetrics')
        .filter(({ name }) => !['stream', 'start', 'end'].includes(name))
        .map(({ name, text }) => [code(name), asCell(text)]),
  },
  {
    table: `${TELEMETRY}#Thresholds`,
    about: 'the rule',
    isOrdered: true,
    rows: () =>
      Object.entries(DEFAULT_THRESHOLDS.rules).map(
        ([name, { above, below, samples, severity }]): ExpectedRow => {
          const bound = above ?? below ?? Number.NaN
          const shown = bound > 1 ? `${bound} ms` : `${bound * 100} %`
          return [
            code(name),
            `${above === undefined ? 'below' : 'above'} ${shown}`,
            String(samples),
            severity,
          ]
        },
      ),
  },
]

/** Every figure of `/metrics`. */
export function prometheusFigures(): ExpectedRow[] {
  const registry = new Registry()
  prometheusMeter(registry).observe(() => ({ locks: 0, waiters: 0, sockets: 0, store: undefined }))
  return registry.getMetricsAsArray().map((metric) => {
    const { name, help, type, labelNames = [] } = metric as typeof metric & { labelNames?: string[] }
    return [code(name), String(type), labelNames.map(code).join(', '), asCell(help)]
  })
}

/** What the sink creates and, for each record, adds: the instruments with their kind, unit and attributes. */
function instruments(): ExpectedRow[] {
  const attributes = new Map<string, Set<string>>()
  const rows: { name: string; kind: string; description: string }[] = []
  const create = (kind: string) => (name: string, options: { description: string; unit: string }) => {
    const names = new Set<string>()
    attributes.set(name, names)
    rows.push({ name, kind: options.unit === 's' ? `${kind}, s` : kind, description: options.description })
    const note = (_: number, given: Record<string, string>) => {
      for (const attribute of Object.keys(given)) names.add(attribute)
    }
    return { add: note, record: note }
  }
  const sink = openTelemetrySink({ createCounter: create('counter'), createHistogram: create('histogram') })
  const times = { waitedMs: 1, leftMs: 1, releaseMs: 1, delayMs: 1, returned: true }
  const types = [
    'acquired',
    'renewed',
    'lost',
    'released',
    'lock:waiting',
    'warning',
    'autosave:readonly-entered',
  ]
  sink.write(types.map((type) => ({ type, stream: 'lease', ...times })) as never)
  return rows.map(({ name, kind, description }) => [
    code(name),
    kind,
    Array.from(attributes.get(name) ?? [], code).join(', '),
    asCell(description),
    PROSE,
  ])
}
