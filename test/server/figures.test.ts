import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { LeaseError } from '../../src/base/errors.ts'
import { memoryBus } from '../../src/server/index.ts'
import { prometheusMeter } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually } from '../eventually.ts'
import { type ServiceBed, serviceBed } from './service-bed.ts'

const LOCK = '/api/documents/room-1/lock'

/** The figures by their names with labels. */
async function figuresOf(bed: ServiceBed): Promise<ReadonlyMap<string, number>> {
  const { body } = await bed.browser().call('GET', '/metrics')
  const lines = String(body).matchAll(/^(\S+) (\S+)$/gm)
  return new Map(Array.from(lines, ([, name = '', value]) => [name, Number(value)]))
}

describe('figures', () => {
  it('figures tell the version, the process and the event loop', async () => {
    await using bed = await serviceBed({ meter: prometheusMeter() })
    const figures = await figuresOf(bed)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(
      figures.get(`holdfast_build_info{version="${version}",node_version="${process.versions.node}"}`),
    ).toBe(1)
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(figures.get(name), name).toBeGreaterThan(0)
  })

  it('figures of the process are left to a registry of yours', async () => {
    const registry = new Registry()
    await using bed = await serviceBed({ meter: prometheusMeter(registry) })
    expect([...(await figuresOf(bed)).keys()].filter((name) => !name.startsWith('holdfast_'))).toEqual([])
  })

  it('figures of two nodes add up, except those of the cluster', async () => {
    const [first, second] = [prometheusMeter(), prometheusMeter()]
    const store = memoryStore()
    const bus = memoryBus()
    await using one = await serviceBed({ store, bus, meter: first })
    await using two = await serviceBed({ store, bus, meter: second })
    const user = one.browser('tab')
    await user.call('POST', LOCK)
    await user.call('POST', LOCK)
    await two.browser().call('POST', '/api/documents/room-2/lock')
    await user.call('DELETE', LOCK)
    await eventually(async () => {
      const nodes = [await figuresOf(one), await figuresOf(two)]
      const of = (name: string) => nodes.map((figures) => figures.get(name))
      expect(of('holdfast_grants_total')).toEqual([1, 1])
      expect(of('holdfast_releases_total')).toEqual([1, 0])
      expect(of('holdfast_cluster_live_locks')).toEqual([1, 1])
    })
  })

  it('count an expired and a taken over lock once, at the node that ended it', async () => {
    await using bed = await serviceBed({ meter: prometheusMeter(), settings: { grace: 0 } })
    await bed.browser().call('POST', LOCK)
    await bed.clock.advance(31_000)
    const user = bed.browser()
    await user.call('POST', LOCK)
    let taken = 0
    void bed
      .browser()
      .call('POST', `${LOCK}/takeover`)
      .then(({ status }) => (taken = status))
    await eventually(async () => {
      await bed.clock.advance(10)
      expect(taken).toBe(200)
    })
    const figures = await figuresOf(bed)
    const counts = ['grants', 'expiries', 'takeovers'].map((name) => figures.get(`holdfast_${name}_total`))
    expect(counts).toEqual([3, 1, 1])
  })

  it('figures have 404 and 405, without the texts of strangers', async () => {
    await using bed = await serviceBed({ meter: prometheusMeter() })
    await bed.browser().call('GET', '/some/secret/path')
    await bed.browser().call('PATCH', LOCK)
    await bed.browser().call('BREW', '/coffee')
    const requests = [...(await figuresOf(bed)).keys()].filter((name) =>
      name.startsWith('holdfast_http_requests'),
    )
    expect(requests.toSorted()).toEqual([
      'holdfast_http_requests_total{route="/api/documents/{roomId}/lock",method="PATCH",status="405"}',
      'holdfast_http_requests_total{route="none",method="GET",status="404"}',
      'holdfast_http_requests_total{route="none",method="other",status="404"}',
    ])
  })

  it('figures have requests that wait apart from the others', async () => {
    await using bed = await serviceBed({ meter: prometheusMeter() })
    const holder = bed.browser()
    await holder.call('POST', LOCK)
    const waiting = bed.browser().call('POST', `${LOCK}?wait=30`)
    await eventually(async () => expect((await figuresOf(bed)).get('holdfast_waiters')).toBe(1))
    await bed.clock.advance(20_000)
    await holder.call('DELETE', LOCK)
    expect((await waiting).status).toBe(200)
    const figures = await figuresOf(bed)
    const labels = '{route="/api/documents/{roomId}/lock",method="POST"}'
    expect(figures.get(`holdfast_http_wait_seconds_count${labels}`)).toBe(1)
    expect(figures.get(`holdfast_http_wait_seconds_sum${labels}`)).toBeCloseTo(20)
    expect(figures.get(`holdfast_http_request_seconds_count${labels}`)).toBe(1)
  })

  it('figures have the calls of the store, the documents and the bus, and their errors', async () => {
    const store = memoryStore()
    const bus = memoryBus()
    const failing = {
      ...store,
      renew: async () => {
        throw new LeaseError('store-unavailable', 'away')
      },
    }
    const silentBus = { ...bus, publish: async () => Promise.reject(new Error('no bus')) }
    await using bed = await serviceBed({ store: failing, bus: silentBus, meter: prometheusMeter() })
    const user = bed.browser()
    const { token } = (await user.call('POST', LOCK)).body
    expect((await user.call('PUT', LOCK)).status).toBe(503)
    await user.call('PUT', '/api/documents/room-1', { content: 1, token })
    const figures = await figuresOf(bed)
    expect(figures.get('holdfast_store_call_seconds_count{operation="acquire"}')).toBe(1)
    expect(figures.get('holdfast_documents_call_seconds_count{operation="save"}')).toBe(1)
    expect(figures.get('holdfast_audit_call_seconds_count{operation="append"}')).toBe(1)
    expect(figures.get('holdfast_store_errors_total{operation="renew",code="store-unavailable"}')).toBe(1)
    expect(figures.get('holdfast_bus_errors_total{operation="publish",code="error"}')).toBeGreaterThan(0)
  })
})

describe('the files for Prometheus and Grafana', () => {
  const alerts = readFileSync(join(root, 'docs/monitoring/alerts.yaml'), 'utf8')
  const dashboard = readFileSync(join(root, 'docs/monitoring/grafana-dashboard.json'), 'utf8')

  /** The names of all figures of a server. */
  async function knownNames(): Promise<string[]> {
    await using bed = await serviceBed({ meter: prometheusMeter() })
    const { body } = await bed.browser().call('GET', '/metrics')
    return Array.from(String(body).matchAll(/^# TYPE (\w+) (\w+)$/gm)).flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    )
  }
  const namesIn = (text: string) => [...new Set(text.match(/\b(holdfast|process|nodejs)_\w+/g))]

  it.each([
    ['alerts.yaml', alerts],
    ['grafana-dashboard.json', dashboard],
  ])('%s names only figures that exist', async (_, text) => {
    const known = await knownNames()
    expect(namesIn(text).filter((name) => !known.includes(name))).toEqual([])
    expect(namesIn(text).length).toBeGreaterThan(5)
  })

  it('the dashboard shows every figure of the service', async () => {
    const shown = JSON.parse(dashboard).panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
      targets.flatMap(({ expr }) => namesIn(expr)),
    )
    const families = (await knownNames())
      .filter((name) => name.startsWith('holdfast_') && !/_(sum|count)$/.test(name))
      .filter((name) => !shown.includes(name))
    expect(families).toEqual([])
  })

  it('every alert has an expression, a time, a severity and a text', () => {
    const rules = alerts.split(/^ {6}- alert: /m).slice(1)
    expect(rules.length).toBeGreaterThan(8)
    for (const rule of rules)
      expect(rule).toMatch(
        /^\w+\n {8}expr: .+\n {8}for: \d+m\n {8}labels: \{ severity: (warning|critical) \}\n {8}annotations:\n {10}summary: '.+'\n {10}description: '.+'\n/,
      )
  })
})
