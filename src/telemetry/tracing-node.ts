import { expectBoolean, expectFunction, expectOptions } from '../base/arguments.ts'
import { aroundCalls } from '../base/around-calls.ts'
import { type OpenSpan, type SpanAttributes, Tracer, type TracingApi } from '../base/tracing.ts'
import type {
  GroupWork,
  LeadOptions,
  Lease,
  LeaseEvent,
  LeaseOptions,
  LeaseStore,
  Leases,
  Work,
} from '../core/index.ts'
import type { TracingOptions } from './options.ts'

type Names = string | readonly string[]

export interface Tracing {
  /** The same store with a span for each call: `holdfast.store.acquire` and so on. */
  store<T extends LeaseStore>(store: T): T
  /**
   * The same leases with a span for each wait and each hold: `holdfast.wait`, `holdfast.hold`. The work of `withLease`
   * and `lead` runs in the context of its hold.
   */
  leases(leases: Leases): Leases
  /** The same runs with a span for each: `holdfast.run`. The work runs in its context. */
  once<T extends { run(id: string, ...rest: never[]): Promise<{ readonly ran: boolean }> }>(once: T): T
  /** The same handler in a span that continues the trace of its request, such as a task handler of `holdfast/once`. */
  handler<T extends (request: Request, ...rest: never[]) => Response | Promise<Response>>(
    handler: T,
    name?: string,
  ): T
  /** The headers that continue the current trace, for `httpStore(url, { headers: tracing.headers })`. */
  headers(): Record<string, string>
}

const STORE_CALLS = ['acquire', 'renew', 'release', 'read', 'list', 'sweep'] as const

/**
 * Spans of OpenTelemetry for leases, stores and runs.
 *
 * @example
 * import * as api from '@opentelemetry/api'
 * const tracing = openTelemetryTracing(api)
 * const leases = tracing.leases(createLeases(tracing.store(store)))
 */
export function openTelemetryTracing(api: TracingApi, options: TracingOptions = {}): Tracing {
  expectOptions(options, { names: 1 })
  const { names = true } = options
  expectBoolean('names', names)
  const tracer = new Tracer(api)
  const about = (key: string, name: string): SpanAttributes => (names ? { [`holdfast.${key}`]: name } : {})

  return {
    store: (store) => tracer.around(store, STORE_CALLS, { 'holdfast.backend': store.kind }),
    leases: (leases) => tracedLeases(leases, tracer, (resource) => about('resource', resource)),
    once: (once) =>
      aroundRun(once, (id, run) => {
        const opened = tracer.open('holdfast.run', about('job', id))
        return tracer.inSpan(opened, async () => {
          const result = await run()
          opened.span.setAttributes({ 'holdfast.ran': result.ran })
          return result
        })
      }),
    handler(handler, name = 'holdfast.request') {
      const traced = (request: Request, ...rest: never[]) => {
        const header = (name: string) => request.headers.get(name) ?? undefined
        const opened = tracer.open(name, { 'http.request.method': request.method }, 'server', header)
        return tracer.inSpan(opened, async () => {
          const response = await handler(request, ...rest)
          opened.span.setAttributes({ 'http.response.status_code': response.status })
          return response
        })
      }
      return traced as unknown as typeof handler
    },
    headers: () => tracer.headers(),
  }
}

function aroundRun<T extends Parameters<Tracing['once']>[0]>(
  once: T,
  around: (id: string, run: () => ReturnType<T['run']>) => unknown,
): T {
  const run = (id: string, ...rest: never[]) =>
    around(id, () => once.run(id, ...rest) as ReturnType<T['run']>)
  return { ...once, run }
}

function tracedLeases(leases: Leases, tracer: Tracer, about: (resource: string) => SpanAttributes): Leases {
  const holds = new Map<string, OpenSpan>()
  const endHold = (id: string, error?: unknown) => {
    holds.get(id)?.end(error)
    holds.delete(id)
  }
  leases.subscribe((event: LeaseEvent) => {
    if (event.type === 'released') endHold(event.leaseId)
    else if (event.type === 'lost') endHold(event.leaseId, event.error)
  })
  const openWait = (resource: string) => tracer.open('holdfast.wait', about(resource))
  const hold = ({ resource, id, token }: Lease) => {
    const opened = tracer.open('holdfast.hold', { ...about(resource), 'holdfast.token': token })
    holds.set(id, opened)
    return opened
  }
  /** A lease that was handed over is not held here any more, but neither released nor lost. */
  const held = (lease: Lease) => {
    hold(lease)
    return aroundCalls(lease, ['detach'], async (_, detach) => {
      const ticket = await detach()
      endHold(lease.id)
      return ticket
    })
  }

  /**
   * The wait ends when the work begins for the first time. Each hold stands beside it. Several leases at once have no
   * spans, as with `acquireAll`.
   */
  const runWork = async <T, R>(resource: Names, work: Work<T>, begin: (work: Work<T>) => Promise<R>) => {
    expectFunction('work', work)
    if (typeof resource !== 'string') return begin(work)
    const wait = openWait(resource)
    let isWaiting = true
    const endWait = (error?: unknown) => {
      if (isWaiting) wait.end(error)
      isWaiting = false
    }
    const inHold: Work<T> = (lease, signal) => {
      endWait()
      return wait.runBeside(() => hold(lease).run(() => work(lease, signal)))
    }
    try {
      return await wait.run(() => begin(inHold))
    } catch (error) {
      endWait(error)
      throw error
    } finally {
      endWait()
    }
  }

  function withLease<T>(resource: Names, work: Work<T> & GroupWork<T>, options?: LeaseOptions): Promise<T> {
    return runWork(resource, work, (inHold) => leases.withLease(resource as string, inHold, options))
  }

  function tryWithLease<T>(resource: Names, work: Work<T> & GroupWork<T>, options?: LeadOptions) {
    return runWork(resource, work, (inHold) => leases.tryWithLease<T>(resource as string, inHold, options))
  }

  return {
    ...leases,
    async acquire(resource, options) {
      return held(await tracer.inSpan(openWait(resource), () => leases.acquire(resource, options)))
    },
    async tryAcquire(resource, options) {
      const lease = await tracer.inSpan(openWait(resource), () => leases.tryAcquire(resource, options))
      return lease && held(lease)
    },
    async adopt(ticket, options) {
      return held(await leases.adopt(ticket, options))
    },
    withLease,
    tryWithLease,
    lead: (resource, work, options) =>
      runWork(resource, work, (inHold) => leases.lead(resource, inHold, options)),
  }
}
