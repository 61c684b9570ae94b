import type { Context } from 'hono'
import type { Clock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import type { Tracer } from '../../base/tracing.ts'
import type { Settings } from '../../configuration/settings.ts'
import type { Authorize } from '../identity.ts'
import { errorFields, type Log } from '../log.ts'
import type { Meter } from '../stats.ts'
import type { Authentication, Authenticator } from './authentication.ts'
import { parseBody, readForm, readText, refuseIfTooLarge, validated } from './body.ts'
import { type HostCheck, misdirected } from './hosts.ts'
import { asHttpError, disconnected, forbidden, HttpError } from './http-error.ts'
import { crossOriginHeaders, isAllowedOrigin, originRefusal, preflightHeaders } from './origins.ts'
import type { Sender, SenderOf } from './proxies.ts'
import { PusherSignatures } from './pusher-signature.ts'
import { RateLimits } from './rate-limit.ts'
import { replyOf, respond } from './reply.ts'
import { IncomingRequest } from './request.ts'
import { connectionOf, type HeaderOf, headersOf } from './request-headers.ts'
import { KNOWN_METHODS, RequestLog, requestIdOf } from './request-log.ts'
import type { Reply, Route } from './route.ts'

/** Whom the limits count, if you know better than the connection: an address, or a name of your own. */
export type ClientOf = (request: Request, env: unknown) => string | undefined

export interface RequestHandlerOptions {
  readonly settings: Settings
  readonly authenticator: Authenticator
  readonly authorize: Authorize
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter | undefined
  readonly isOwnHost: HostCheck
  readonly senderOf: SenderOf
  readonly clientOf?: ClientOf | undefined
  readonly tracer?: Tracer | undefined
  /** Aborts when the server stops. */
  readonly stop: AbortSignal
}

/** Checks each request before its route handles it, and sends every answer. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions
  readonly #limits: RateLimits
  readonly #signatures: PusherSignatures
  readonly #log: RequestLog

  constructor(options: RequestHandlerOptions) {
    const { settings, clock } = options
    this.#options = options
    this.#limits = new RateLimits(options)
    this.#signatures = new PusherSignatures(settings, clock)
    this.#log = new RequestLog(options)
  }

  handle(route: Route, context: Context): Promise<Response> {
    const respond = () => this.#handle(route, context)
    // Traces of heartbeats and probes would hide all others.
    return route.isFrequent ? respond() : this.#traced(route.method, route.path, context, respond)
  }

  /** `path`: undefined if no route has the path, which is a text of a stranger. */
  async #traced(
    method: string,
    path: string | undefined,
    context: Context,
    respond: () => Response | Promise<Response>,
  ): Promise<Response> {
    const { tracer } = this.#options
    if (!tracer) return respond()
    const name = path === undefined ? method : `${method} ${path}`
    const attributes = { 'http.request.method': method, ...(path !== undefined && { 'http.route': path }) }
    const opened = tracer.open(name, attributes, 'server', headersOf(context))
    return tracer.inSpan(opened, async () => {
      const response = await respond()
      opened.span.setAttributes({ 'http.response.status_code': response.status })
      return response
    })
  }

  async #handle(route: Route, context: Context): Promise<Response> {
    const { clock, settings } = this.#options
    const startedAt = clock.monotonic()
    const header = headersOf(context)
    const headers: Record<string, string> = { 'X-Request-Id': requestIdOf(header) }
    const request = new IncomingRequest(context, header, this.#senderOf(context, header), this.#options.stop)
    let failure: unknown
    let reply: Reply
    try {
      reply = await this.#reply(route, request, context, headers)
    } catch (error) {
      failure = error
      reply = replyOf(refusalOf(error, context.req.raw))
    } finally {
      request.end()
    }
    const { origins } = settings
    if (origins.length > 0) Object.assign(headers, crossOriginHeaders(header, request.sender.host, origins))
    this.#log.answered(route, request, {
      id: headers['X-Request-Id'] ?? '',
      path: context.req.path,
      status: reply.status ?? 200,
      ms: clock.monotonic() - startedAt,
      failure,
    })
    return respond(reply, headers)
  }

  /** Before a page of another origin sends a request that a form could not send, its browser asks. */
  preflight(context: Context): Response {
    const { settings, isOwnHost } = this.#options
    const header = headersOf(context)
    const { host } = this.#senderOf(context, header)
    if (!isOwnHost(host)) return this.#refuse(context, misdirected())
    const allowed = crossOriginHeaders(header, host, settings.origins)
    const isAllowed = 'Access-Control-Allow-Origin' in allowed
    const headers = isAllowed ? { ...allowed, ...preflightHeaders(settings.headers) } : {}
    return new Response(null, { status: 204, headers })
  }

  /** For a request without a route. `path`: of the route that has other methods. */
  refuse(context: Context, reason: HttpError, path?: string): Promise<Response> {
    const method = KNOWN_METHODS.has(context.req.method) ? context.req.method : '_OTHER'
    return this.#traced(method, path, context, () => this.#refuse(context, reason, path))
  }

  #refuse(context: Context, reason: HttpError, path?: string): Response {
    const header = headersOf(context)
    const sender = this.#senderOf(context, header)
    const error = this.#options.isOwnHost(sender.host) ? reason : misdirected()
    const id = requestIdOf(header)
    const { method, path: asked } = context.req
    this.#log.refused({ id, method, route: path, path: asked, status: error.status, sender })
    return respond(replyOf(error), { 'X-Request-Id': id })
  }

  #senderOf(context: Context, header: HeaderOf): Sender {
    const { senderOf, clientOf } = this.#options
    const { raw, url } = context.req
    const sender = senderOf(header, connectionOf(context))
    if (!clientOf && sender.host !== '') return sender
    return {
      ...sender,
      address: clientOf ? this.#clientOf(clientOf, raw, context.env) : sender.address,
      host: sender.host || new URL(url).host,
    }
  }

  #clientOf(clientOf: ClientOf, request: Request, env: unknown): string {
    try {
      return clientOf(request, env) ?? ''
    } catch (error) {
      notify(this.#options.log, 'error', 'clientOf', errorFields(error, true))
      return ''
    }
  }

  async #reply(
    route: Route,
    request: IncomingRequest,
    context: Context,
    headers: Record<string, string>,
  ): Promise<Reply> {
    const { settings, authorize, isOwnHost } = this.#options
    const { raw } = context.req
    const { header } = request
    if (!isOwnHost(request.sender.host)) throw misdirected()
    const authorization = header('authorization') ?? ''
    if (request.limitKey !== '') this.#limits.check(route, request.limitKey, authorization)
    if (route.signed) await this.#readSigned(route, request, raw)
    if (route.action === null) {
      if (request.limitKey === '') this.#limits.checkUnknown(route, route.id)
      return route.handle(request)
    }
    const authentication = await this.#authenticate(route, request, raw)
    if (authentication.byToken) this.#limits.trust(authorization)
    request.authentication = authentication
    if (authentication.setCookie !== undefined) headers['Set-Cookie'] = authentication.setCookie
    this.#checkOrigin(route, authentication, request)
    const resource = request.checkNames(route, settings.maxRoomBytes)
    if (route.action !== 'identified' && !(await authorize(request.identity, route.action, resource)))
      throw forbidden(route.action, resource)
    request.checkQuery(route)
    request.checkHeaders(route)
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

  /**
   * Where addresses are not known, each session has its own limit, and everybody who has none yet shares one with all
   * others. So nobody can stop those who have a session, and an invented cookie is no session.
   */
  async #authenticate(route: Route, request: IncomingRequest, raw: Request): Promise<Authentication> {
    const { authenticator } = this.#options
    const { header, sender } = request
    const isSecure = sender.isSecure ?? raw.url.startsWith('https:')
    const { prefix } = sender
    const authenticating = authenticator.authenticate(raw, header, { isSecure, prefix })
    if (request.limitKey !== '') return authenticating
    const authentication = await authenticating.catch((error: unknown) => {
      this.#limits.checkUnknown(route, 'strangers')
      throw error
    })
    const { isNew, limitId, byToken } = authentication
    if (byToken) return authentication
    request.limitKey = isNew ? 'strangers' : `session ${limitId}`
    this.#limits.checkUnknown(route, request.limitKey)
    return authentication
  }

  async #readSigned(route: Route, request: IncomingRequest, raw: Request): Promise<void> {
    const { settings } = this.#options
    const { method, url } = raw
    const body =
      method === 'GET' ? '' : await readText(raw, request.header, settings[route.limit ?? 'maxBody'])
    await this.#signatures.check({ method, url, body })
    request.checkEncoding('path')
    request.checkQuery(route)
    if (route.body) request.body = validated(route.body, parseBody(body, settings.maxDepth)) as never
  }

  /** A browser sends the cookie with the requests of every page, but no page of another site can send the token. */
  #checkOrigin(route: Route, { byToken }: Authentication, { header, sender }: IncomingRequest): void {
    if (route.method === 'GET' || byToken) return
    if (isAllowedOrigin(header, sender.host, this.#options.settings.origins)) return
    throw new HttpError(403, 'origin_not_allowed', originRefusal(header('origin'), 'call'))
  }
}

/** If the client has disconnected, whatever failed because of it is not an error of the server. */
function refusalOf(error: unknown, request: Request): HttpError {
  const refusal = asHttpError(error)
  return refusal.code === 'internal' && request.signal.aborted ? disconnected() : refusal
}
