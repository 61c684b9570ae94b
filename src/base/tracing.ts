/** Spans of OpenTelemetry. The API is given structurally, so it is no dependency. */

import { expectMethods } from './arguments.ts'
import { aroundCalls } from './around-calls.ts'

export type SpanAttributes = Record<string, string | number | boolean>

/** The part of a `Span` that is used. */
export interface SpanLike {
  setAttributes(attributes: SpanAttributes): unknown
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  recordException(error: Error): unknown
  end(): void
}

/** A context or span of the API, whose types are not imported. */
// biome-ignore lint/suspicious/noExplicitAny: what the API accepts must be given back to it as it is.
export type TracingContext = any

/** The part of `@opentelemetry/api` that is used. */
export interface TracingApi {
  readonly trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options: { kind?: number; attributes: SpanAttributes },
        context: TracingContext,
      ): SpanLike
    }
    setSpan(context: TracingContext, span: TracingContext): TracingContext
    getSpan(context: TracingContext): unknown
  }
  readonly context: {
    active(): TracingContext
    with<T>(context: TracingContext, run: () => T): T
  }
  readonly propagation: {
    inject(context: TracingContext, carrier: Record<string, string>): void
    extract(context: TracingContext, carrier: Record<string, string>): TracingContext
  }
}

/** `SpanKind` and `SpanStatusCode` of the API. Their numbers are part of its stable interface. */
const KINDS = { internal: 0, server: 1, client: 2 } as const
const ERROR = 2
const PROPAGATED = ['traceparent', 'tracestate', 'baggage']

export interface OpenSpan {
  readonly span: SpanLike
  /** Runs in the context of the span: spans that begin in it are its children. */
  run<T>(work: () => T): T
  /** Runs in the context in which the span was begun, also if it is called within the span. */
  runBeside<T>(work: () => T): T
  /** Ends the span, as failed if there is an error. */
  end(error?: unknown): void
}

export class Tracer {
  readonly #api: TracingApi
  readonly #tracer: ReturnType<TracingApi['trace']['getTracer']>

  constructor(api: TracingApi) {
    expectMethods('trace', api?.trace, 'the trace of @opentelemetry/api', 'getTracer', 'setSpan', 'getSpan')
    expectMethods('context', api.context, 'the context of @opentelemetry/api', 'active', 'with')
    expectMethods('propagation', api.propagation, 'that of @opentelemetry/api', 'inject', 'extract')
    this.#api = api
    this.#tracer = api.trace.getTracer('holdfast')
  }

  /** Begins a span in the current context, or in that of a request with these headers. */
  open(
    name: string,
    attributes: SpanAttributes,
    kind: keyof typeof KINDS = 'internal',
    header?: (name: string) => string | undefined,
  ): OpenSpan {
    const { trace, context, propagation } = this.#api
    const parent = header ? propagation.extract(context.active(), carrierOf(header)) : context.active()
    const span = this.#tracer.startSpan(name, { kind: KINDS[kind], attributes }, parent)
    const own = trace.setSpan(parent, span)
    return {
      span,
      run: (work) => context.with(own, work),
      runBeside: (work) => context.with(parent, work),
      end(error) {
        if (error !== undefined) {
          const failure = error instanceof Error ? error : new Error(String(error))
          span.recordException(failure)
          span.setStatus({ code: ERROR, message: failure.message })
        }
        span.end()
      },
    }
  }

  /** A span around asynchronous work. */
  async inSpan<T>(opened: OpenSpan, work: () => T | PromiseLike<T>): Promise<T> {
    try {
      const result = await opened.run(work)
      opened.end()
      return result
    } catch (error) {
      opened.end(error)
      throw error
    }
  }

  /** The same object with a span for each call of these methods. `onlyInside`: only for calls within another span. */
  around<T extends object>(
    target: T,
    methods: readonly (keyof T & string)[],
    attributes: SpanAttributes,
    { part = 'store', onlyInside = false }: { readonly part?: string; readonly onlyInside?: boolean } = {},
  ): T {
    return aroundCalls(target, methods, (method, run) =>
      onlyInside && !this.#isInside
        ? run()
        : this.inSpan(this.open(`holdfast.${part}.${method}`, attributes, 'client'), run),
    )
  }

  get #isInside(): boolean {
    const { trace, context } = this.#api
    return trace.getSpan(context.active()) !== undefined
  }

  /** The headers that continue the current trace at another server. */
  headers(): Record<string, string> {
    const carrier: Record<string, string> = {}
    this.#api.propagation.inject(this.#api.context.active(), carrier)
    return carrier
  }
}

function carrierOf(header: (name: string) => string | undefined): Record<string, string> {
  const carrier: Record<string, string> = {}
  for (const name of PROPAGATED) {
    const value = header(name)
    if (value !== undefined) carrier[name] = value
  }
  return carrier
}
