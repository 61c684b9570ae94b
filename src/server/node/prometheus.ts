import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { readVersion } from '../../configuration/version-node.ts'
import { CALL_SECONDS, REQUEST_SECONDS, WAIT_SECONDS } from '../options.ts'
import type { CurrentFigures, LeaseChange, Meter } from '../stats.ts'

/**
 * Figures for Prometheus. Pass your own registry to have them among your own figures; then the figures of the process
 * are yours to collect, with `collectDefaultMetrics` of `prom-client`.
 *
 * Counters count what this node has done, so that the sum over all nodes is right. What every node sees of all of
 * them is called `holdfast_cluster_…`.
 *
 * @example
 * const server = await createServer({ ...sqliteParts('./holdfast.db'), meter: prometheusMeter(register) })
 */
export function prometheusMeter(registry?: Registry): Meter {
  const own = registry ?? new Registry()
  const common = { registers: [own] }
  const counter = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Counter({ ...common, name: `holdfast_${name}_total`, help, labelNames })
  const histogram = <T extends string>(name: string, help: string, buckets: number[], labelNames: T[]) =>
    new Histogram({ ...common, name: `holdfast_${name}_seconds`, help, buckets, labelNames })

  new Gauge({
    ...common,
    name: 'holdfast_build_info',
    help: 'Always 1. The labels tell the version',
    labelNames: ['version', 'node_version'],
  }).set({ version: readVersion(), node_version: process.versions.node }, 1)
  const requests = counter(
    'http_requests',
    'Requests answered, 404 and 405 too; the route of a 404 is none',
    ['route', 'method', 'status'],
  )
  const short = histogram(
    'http_request',
    'From a request to its answer, except requests that wait',
    REQUEST_SECONDS,
    ['route', 'method'],
  )
  const long = histogram('http_wait', 'How long requests stayed open that wait for a lock', WAIT_SECONDS, [
    'route',
    'method',
  ])
  const leases: Readonly<Record<LeaseChange, Counter>> = {
    granted: counter('grants', 'Leases that this node has granted'),
    released: counter('releases', 'Leases that this node has released'),
    expired: counter('expiries', 'Expired leases that this node has ended'),
    'taken-over': counter('takeovers', 'Leases that this node has ended by a takeover'),
  }
  const calls = {
    store: callFigures('store'),
    documents: callFigures('documents'),
    audit: callFigures('audit'),
    bus: callFigures('bus'),
  }

  return {
    request(route, method, status, seconds, isLong) {
      requests.inc({ route, method, status })
      const histogramOfKind = isLong ? long : short
      histogramOfKind.observe({ route, method }, seconds)
    },
    lease: (change) => leases[change].inc(),
    call(part, operation, seconds, code) {
      const { latencies, errors } = calls[part]
      latencies.observe({ operation }, seconds)
      if (code !== undefined) errors.inc({ operation, code })
    },
    observe: (read) => observeFigures(own, read),
    async text() {
      const all = registry ? own : Registry.merge([own, processRegistry()])
      return { body: await all.metrics(), contentType: all.contentType }
    },
  }

  function callFigures(part: string) {
    return {
      latencies: histogram(`${part}_call`, `Calls of this node to its ${part}`, CALL_SECONDS, ['operation']),
      errors: counter(`${part}_errors`, `Calls of this node to its ${part} that failed`, [
        'operation',
        'code',
      ]),
    }
  }
}

function observeFigures(registry: Registry, read: () => CurrentFigures): void {
  const gauge = (name: string, help: string, value: (figures: CurrentFigures) => number) =>
    new Gauge({
      registers: [registry],
      name: `holdfast_${name}`,
      help,
      collect() {
        this.set(value(read()))
      },
    })
  gauge('cluster_live_locks', 'Live leases of all nodes', ({ locks }) => locks)
  gauge('waiters', 'Clients that wait in the queue at this node', ({ waiters }) => waiters)
  gauge('sockets', 'Open WebSockets of this node', ({ sockets }) => sockets)
  gauge(
    'store_in_flight',
    'Acquire requests of this node that the store has not answered',
    ({ store }) => store?.inFlight ?? 0,
  )
  gauge(
    'store_queued',
    'Acquire requests that wait at this node until they may be sent',
    ({ store }) => store?.queued ?? 0,
  )
}

let ofProcess: Registry | undefined

/** CPU, memory and event loop. One for all servers of a process, because it observes the process until its end. */
function processRegistry(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
  }
  return ofProcess
}
