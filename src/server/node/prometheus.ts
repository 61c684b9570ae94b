import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Meter, Present } from '../meter.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60]

/** Counts for Prometheus. With a registry of yours the figures appear among your own. */
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
    help: 'From the request to its answer; those that wait in line are long',
    labelNames: ['route', 'method'],
    buckets: SECONDS,
  })
  const counter = (name: string, help: string) =>
    new Counter({ ...common, name: `holdfast_${name}_total`, help })
  const grants = counter('grants', 'Leases granted, on all nodes, as this one saw it')
  const releases = counter('releases', 'Leases released')
  const expiries = counter('expiries', 'Leases that ran out')
  const takeovers = counter('takeovers', 'Leases that another took over')
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
      const gauge = (name: string, help: string, value: keyof Present) =>
        new Gauge({
          ...common,
          name: `holdfast_${name}`,
          help,
          collect() {
            this.set(read()[value])
          },
        })
      gauge('live_locks', 'Live leases', 'locks')
      gauge('waiters', 'Callers that wait in line at this node', 'waiters')
      gauge('sockets', 'Open WebSockets of this node', 'sockets')
    },
    text: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
  }
}
