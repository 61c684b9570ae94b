import { notify } from '../../base/notify.ts'
import { randomId } from '../../base/random-id.ts'
import type { Settings } from '../../configuration/settings.ts'
import { errorFields, type Log } from '../log.ts'
import type { Meter } from '../stats.ts'
import { asHttpError } from './http-error.ts'
import type { Sender } from './proxies.ts'
import type { IncomingRequest } from './request.ts'
import type { HeaderOf } from './request-headers.ts'
import type { Route } from './route.ts'

export interface RequestLogOptions {
  readonly settings: Settings
  readonly log: Log
  readonly meter?: Meter | undefined
}

interface Answered {
  readonly id: string
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly failure: unknown
}

interface Refused extends Pick<Answered, 'id' | 'path' | 'status'> {
  readonly method: string
  readonly route: string | undefined
  readonly sender: Sender
}

/** What the log tells of a request. */
type Fields = {
  readonly request_id: string
  readonly method: string
  readonly route: string | undefined
  readonly status: number
  path?: string
  client?: string
  user?: string
  ms?: number
  error?: string
  stack?: string
}

/** The label of requests that no route takes. Their paths are texts of strangers. */
const NO_ROUTE = 'none'
export const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'HEAD',
  'PATCH',
])

/** One line and the figures of each request. Paths contain the names of rooms, so they are logged only if allowed. */
export class RequestLog {
  readonly #options: RequestLogOptions

  constructor(options: RequestLogOptions) {
    this.#options = options
  }

  answered({ path: route, method, isFrequent }: Route, request: IncomingRequest, answered: Answered): void {
    const { meter } = this.#options
    const { id, path, status, ms, failure } = answered
    if (meter) notify(() => meter.request(route, method, status, ms / 1000, request.isLong))
    const fields = this.#fields({ id, method, route, path, status, sender: request.sender })
    const { publicId } = request.identity
    if (publicId !== '') fields.user = publicId
    fields.ms = Math.round(ms * 100) / 100
    const isError = status >= 500 && asHttpError(failure).code !== 'stopping'
    if (isError) this.#write('error', { ...fields, ...errorFields(failure, status === 500) })
    else this.#write(isFrequent ? 'debug' : 'info', fields)
  }

  refused(refused: Refused): void {
    const { meter } = this.#options
    const { route = NO_ROUTE, status } = refused
    const method = KNOWN_METHODS.has(refused.method) ? refused.method : 'other'
    if (meter) notify(() => meter.request(route, method, status, 0, false))
    this.#write('info', this.#fields({ ...refused, method, route }))
  }

  #fields({ id, method, route, path, status, sender }: Refused): Fields {
    const fields: Fields = { request_id: id, method, route, status }
    if (this.#options.settings.logRooms) fields.path = path
    if (sender.address !== '') fields.client = sender.address
    return fields
  }

  #write(level: 'debug' | 'info' | 'error', fields: Fields): void {
    notify(this.#options.log, level, 'request', fields)
  }
}

const REQUEST_ID = /^[\w.:+/=@-]{1,128}$/
const TRACE_PARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/

/** The id that the caller, or a proxy, has given the request; else the id of its trace; else a new one. */
export function requestIdOf(header: HeaderOf): string {
  const given = header('x-request-id')
  if (given !== undefined && REQUEST_ID.test(given)) return given
  return TRACE_PARENT.exec(header('traceparent') ?? '')?.[1] ?? randomId()
}
