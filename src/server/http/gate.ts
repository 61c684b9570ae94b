import type { Context } from 'hono'
import type { Settings } from '../../configuration/settings.ts'
import type { Clock } from '../../core/index.ts'
import type { Authorize } from '../identity.ts'
import type { Log } from '../log.ts'
import type { Meter } from '../meter.ts'
import { readForm, readJson, refuseIfTooLarge, validated } from './body.ts'
import type { Arrival, Callers } from './callers.ts'
import { addressOf } from './client-address.ts'
import { type HeaderOf, headersOf } from './header-of.ts'
import { asHttpError, callerGone, forbidden, HttpError } from './http-error.ts'
import { crossOriginHeaders, isAllowedOrigin, originRefusal } from './origins.ts'
import { RateLimit } from './rate-limit.ts'
import type { Reply, Route } from './route.ts'
import { Visit } from './visit.ts'

export interface GateOptions {
  readonly settings: Settings
  readonly callers: Callers
  readonly authorize: Authorize
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter | undefined
  /** Aborts when the server stops. */
  readonly stop: AbortSignal
}

const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** Lets a request in, or says why not; every answer leaves through here. */
export class Gate {
  readonly #options: GateOptions
  readonly #requests: RateLimit
  readonly #telemetry: RateLimit

  constructor(options: GateOptions) {
    const { settings, clock } = options
    this.#options = options
    this.#requests = new RateLimit(settings.rate, settings.burst, clock)
    this.#telemetry = new RateLimit(settings.telemetryRate, settings.telemetryRate * 4, clock)
  }

  async serve(route: Route, context: Context): Promise<Response> {
    const { clock, settings, meter, log } = this.#options
    const started = clock.monotonic()
    const headers: Record<string, string> = {}
    let failure: unknown
    let isStopping = false
    let reply: Reply
    try {
      reply = await this.#answer(route, context, headers)
    } catch (error) {
      failure = error
      const refusal = errorOf(error, context.req.raw)
      isStopping = refusal.code === 'stopping'
      reply = replyOf(refusal)
    }
    if (settings.origins.length > 0)
      Object.assign(headers, crossOriginHeaders(headersOf(context), context.req.url, settings.origins))
    const { status = 200 } = reply
    const ms = clock.monotonic() - started
    meter?.request(route.path, route.method, status, ms / 1000)
    const fields = { method: route.method, path: context.req.path, status, ms: Math.round(ms * 100) / 100 }
    if (status >= 500 && !isStopping) log('error', 'request', { ...fields, error: describe(failure) })
    else log(route.id === 'beat' ? 'debug' : 'info', 'request', fields)
    return respond(reply, headers)
  }

  /** For what no route is for. */
  refuse(context: Context, error: HttpError): Response {
    this.#options.log('info', 'request', {
      method: context.req.method,
      path: context.req.path,
      status: error.status,
    })
    return respond(replyOf(error), {})
  }

  async #answer(route: Route, context: Context, headers: Record<string, string>): Promise<Reply> {
    const { settings, callers, authorize } = this.#options
    const { raw: request } = context.req
    const visit = new Visit(context, this.#options.stop)
    if (route.action === null) return route.handle(visit)
    const { header } = visit
    this.#limit(route, context, header)
    const arrival = await callers.arrive(request, header)
    if (arrival.setCookie !== undefined) headers['Set-Cookie'] = arrival.setCookie
    this.#checkOrigin(route, arrival, header, request)
    visit.identity = arrival.guest
    const about = visit.check(settings.maxRoomBytes)
    if (route.action !== 'identified' && !(await authorize(arrival.guest, route.action, about)))
      throw forbidden(route.action)
    const limit = settings[route.limit ?? 'maxBody']
    if (route.body) {
      const isForm = route.form && !header('content-type')?.includes('json')
      const sent = await (isForm ? readForm(request, header, limit) : readJson(request, header, limit))
      visit.body = validated(route.body, sent) as never
    } else refuseIfTooLarge(header, limit)
    return route.handle(visit)
  }

  #limit(route: Route, context: Context, header: HeaderOf): void {
    const client = addressOf(context, header, this.#options.settings.trustProxy)
    const wait = Math.max(
      this.#requests.take(client),
      route.rate === 'telemetry' ? this.#telemetry.take(client) : 0,
    )
    if (wait === 0) return
    const headers = { 'Retry-After': String(Math.ceil(wait / 1000)) }
    throw new HttpError(429, 'too_many_requests', `ask again in ${wait} ms`, { headers })
  }

  /** A cookie comes along with whatever page makes the browser call; a token in a header does not. */
  #checkOrigin(route: Route, { byToken }: Arrival, header: HeaderOf, { url }: Request): void {
    if (route.method === 'GET' || byToken) return
    if (isAllowedOrigin(header, url, this.#options.settings.origins)) return
    throw new HttpError(403, 'origin_not_allowed', originRefusal(header('origin'), 'call'))
  }
}

/** Whatever broke off because the caller did is no failure of ours. */
function errorOf(error: unknown, request: Request): HttpError {
  const known = asHttpError(error)
  return known.code === 'internal' && request.signal.aborted ? callerGone() : known
}

function replyOf({ status, code, message, details, headers }: HttpError): Reply {
  return { status, body: { error: code, message, ...details }, headers }
}

function respond({ status = 200, body, headers }: Reply, more: Record<string, string>): Response {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Response(text, { status, headers: { ...HEADERS, ...headers, ...more } })
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
