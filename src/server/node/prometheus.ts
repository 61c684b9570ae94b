import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { CurrentFigures, Meter } from '../stats.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60]

/** Figures for Prometheus. Pass your own registry to have them among your own figures. */
export function prometheusMeter(registry = new Registry()): Meter {
  const common = { registers: [registry] }
  const requests = new Counter({
    ...common,
    name: 'holdfast_http_requests_total',
    help: 'Requests answered',
    labelNames: ['route', 'method', 'status'],
  })
  const latencies = new Histogram({
    ...common,
    name: 'holdfast_http_request_seconds',
    help: 'From the request to its answer, including the time in the queue',
    labelNames: ['route', 'method'],
    buckets: SECONDS,
  })
  const counter = (name: string, help: string) =>
    new Counter({ ...common, name: `holdfast_${name}_total`, help })
  const grants = counter('grants', 'Leases granted on all nodes, as seen by this node')
  const releases = counter('releases', 'Leases released')
  const expiries = counter('expiries', 'Leases that expired')
  const takeovers = counter('takeovers', 'Leases that were taken over')
  const endings = { released: releases, expired: expiries, 'taken-over': takeovers, held: expiries }

  return {
    request(route, method, status, seconds) {
      requests.inc({ route, method, status })
      latencies.observe({ route, method }, seconds)
    },
    transition({ phase, lease }) {
      if (phase === 'started') grants.inc()
      if (phase === 'ended') endings[lease.state].inc()
    },
    observe(read) {
      const gauge = (name: string, help: string, value: (figures: CurrentFigures) => number) =>
        new Gauge({
          ...common,
          name: `holdfast_${name}`,
          help,
          collect() {
            this.set(value(read()))
          },
        })
      gauge('live_locks', 'Live leases', ({ locks }) => locks)
      gauge('waiters', 'Clients that wait in the queue at this node', ({ waiters }) => waiters)
      gauge('sockets', 'Open WebSockets of this node', ({ sockets }) => sockets)
      gauge(
        'store_in_flight',
        'Acquire requests that the store has not answered',
        ({ store }) => store?.inFlight ?? 0,
      )
      gauge(
        'store_queued',
        'Acquire requests that wait until they may be sent',
        ({ store }) => store?.queued ?? 0,
      )
      const callTime = 'Mean duration of the latest calls of the store'
      gauge('store_call_seconds', callTime, ({ store }) => (store?.callTime ?? 0) / 1000)
    },
    text: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
  }
}
