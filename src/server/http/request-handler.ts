import type { Context } from 'hono'
import type { Clock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import type { Settings } from '../../configuration/settings.ts'
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../protocol/index.ts'
import type { Authorize } from '../identity.ts'
import { describeError, type Log } from '../log.ts'
import type { Meter } from '../stats.ts'
import type { Authentication, Authenticator } from './authentication.ts'
import { parseBody, readForm, readText, refuseIfTooLarge, validated } from './body.ts'
import { type HostCheck, misdirected } from './hosts.ts'
import { asHttpError, disconnected, forbidden, HttpError } from './http-error.ts'
import { crossOriginHeaders, hostOf, isAllowedOrigin, originRefusal, preflightHeaders } from './origins.ts'
import { PusherSignatures } from './pusher-signature.ts'
import { RateLimit } from './rate-limit.ts'
import { IncomingRequest } from './request.ts'
import { type HeaderOf, headersOf } from './request-headers.ts'
import type { Reply, Route } from './route.ts'

export interface RequestHandlerOptions {
  readonly settings: Settings
  readonly authenticator: Authenticator
  readonly authorize: Authorize
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter | undefined
  readonly isOwnHost: HostCheck
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
  [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
}

/** Checks each request before its route handles it, and sends every answer. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions
  readonly #requests: RateLimit
  readonly #telemetry: RateLimit
  readonly #signatures: PusherSignatures

  constructor(options: RequestHandlerOptions) {
    const { settings, clock } = options
    this.#options = options
    this.#requests = new RateLimit(settings.rate, settings.burst, clock)
    this.#signatures = new PusherSignatures(settings, clock)
    this.#telemetry = new RateLimit(settings.telemetryRate, settings.telemetryRate * 4, clock)
  }

  async handle(route: Route, context: Context): Promise<Response> {
    const { clock, settings, meter, log } = this.#options
    const startedAt = clock.monotonic()
    const headers: Record<string, string> = {}
    let failure: unknown
    let isStopping = false
    let reply: Reply
    try {
      reply = await this.#reply(route, context, headers)
    } catch (error) {
      failure = error
      const refusal = refusalOf(error, context.req.raw)
      isStopping = refusal.code === 'stopping'
      reply = replyOf(refusal)
    }
    if (settings.origins.length > 0)
      Object.assign(headers, crossOriginHeaders(headersOf(context), context.req.url, settings.origins))
    const { status = 200 } = reply
    const ms = clock.monotonic() - startedAt
    if (meter) notify(() => meter.request(route.path, route.method, status, ms / 1000))
    const fields = { method: route.method, path: context.req.path, status, ms: Math.round(ms * 100) / 100 }
    if (status >= 500 && !isStopping)
      notify(log, 'error', 'request', { ...fields, error: describeError(failure) })
    else notify(log, route.id === 'beat' ? 'debug' : 'info', 'request', fields)
    return respond(reply, headers)
  }

  /** Before a page of another origin sends a request that a form could not send, its browser asks. */
  preflight(context: Context): Response {
    const { settings } = this.#options
    const header = headersOf(context)
    const { url } = context.req
    if (!this.#isOwnHost(header, url)) return this.refuse(context, misdirected())
    const allowed = crossOriginHeaders(header, url, settings.origins)
    const isAllowed = 'Access-Control-Allow-Origin' in allowed
    const headers = isAllowed ? { ...allowed, ...preflightHeaders(settings.headers) } : {}
    return new Response(null, { status: 204, headers })
  }

  /** For a request without a route. */
  refuse(context: Context, reason: HttpError): Response {
    const error = this.#isOwnHost(headersOf(context), context.req.url) ? reason : misdirected()
    this.#options.log('info', 'request', {
      method: context.req.method,
      path: context.req.path,
      status: error.status,
    })
    return respond(replyOf(error), {})
  }

  async #reply(route: Route, context: Context, headers: Record<string, string>): Promise<Reply> {
    const { settings, authenticator, authorize, stop } = this.#options
    const { raw } = context.req
    const request = new IncomingRequest(context, stop, settings.trustProxy)
    const { header } = request
    if (!this.#isOwnHost(header, raw.url)) throw misdirected()
    if (route.rate !== 'none') this.#checkRate(route, request.address)
    if (route.signed) await this.#readSigned(route, request, raw)
    if (route.action === null) return route.handle(request)
    const authentication = await authenticator.authenticate(raw, header)
    if (authentication.setCookie !== undefined) headers['Set-Cookie'] = authentication.setCookie
    this.#checkOrigin(route, authentication, header, raw.url)
    request.identity = authentication.identity
    const resource = request.checkNames(settings.maxRoomBytes)
    if (route.action !== 'identified' && !(await authorize(request.identity, route.action, resource)))
      throw forbidden(route.action)
    const bytes = settings[route.limit ?? 'maxBody']
    if (route.body) {
      const isForm = route.form && !header('content-type')?.includes('json')
      const sent = isForm
        ? await readForm(raw, header, bytes)
        : parseBody(await readText(raw, header, bytes), settings.maxDepth)
      request.body = validated(route.body, sent) as never
    } else refuseIfTooLarge(header, bytes)
    return route.handle(request)
  }

  async #readSigned(route: Route, request: IncomingRequest, raw: Request): Promise<void> {
    const { settings } = this.#options
    const { method, url } = raw
    const body =
      method === 'GET' ? '' : await readText(raw, request.header, settings[route.limit ?? 'maxBody'])
    await this.#signatures.check({ method, url, body })
    if (route.body) request.body = validated(route.body, parseBody(body, settings.maxDepth)) as never
  }

  #isOwnHost(header: HeaderOf, url: string): boolean {
    return this.#options.isOwnHost(hostOf(header, url))
  }

  #checkRate(route: Route, address: string): void {
    const waitMs = Math.max(
      this.#requests.take(address),
      route.rate === 'telemetry' ? this.#telemetry.take(address) : 0,
    )
    if (waitMs === 0) return
    const headers = { 'Retry-After': String(Math.ceil(waitMs / 1000)) }
    throw new HttpError(429, 'too_many_requests', `too many requests; retry in ${waitMs} ms`, { headers })
  }

  /** A browser sends the cookie whatever page makes it call, but not a token in a header. */
  #checkOrigin(route: Route, { byToken }: Authentication, header: HeaderOf, url: string): void {
    if (route.method === 'GET' || byToken) return
    if (isAllowedOrigin(header, url, this.#options.settings.origins)) return
    throw new HttpError(403, 'origin_not_allowed', originRefusal(header('origin'), 'call'))
  }
}

/** If the client has disconnected, whatever failed because of it is not an error of the server. */
function refusalOf(error: unknown, request: Request): HttpError {
  const refusal = asHttpError(error)
  return refusal.code === 'internal' && request.signal.aborted ? disconnected() : refusal
}

function replyOf({ status, code, message, details, headers }: HttpError): Reply {
  return { status, body: { error: code, message, ...details }, headers }
}

function respond({ status = 200, body, headers }: Reply, more: Record<string, string>): Response {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Response(status === 304 ? null : text, { status, headers: { ...HEADERS, ...headers, ...more } })
}
