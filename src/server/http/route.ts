import type * as v from 'valibot'
import type { CLIENT_HEADER } from '../../protocol/index.ts'
import type { Action, Identity } from '../identity.ts'
import type { LockClient } from '../locks.ts'
import type { QueryParameter } from './query.ts'
import type { HeaderOf } from './request-headers.ts'

/** One operation of the API. The router, the checks and the OpenAPI document are made from it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As OpenAPI writes it, such as `/api/documents/{roomId}/lock`. */
  readonly path: string
  readonly id: string
  readonly summary: string
  /**
   * What the sender must be allowed to do. `identified`: nothing, but the server must know who it is. `null`:
   * anybody may send the request, and nobody is identified.
   */
  readonly action: Action | 'identified' | null
  /** The request carries a signature of the Pusher protocol, which shows that it comes from the user's backend. */
  readonly signed?: true
  readonly query?: Readonly<Record<string, QueryParameter<unknown>>>
  /** The headers that change what the request does. */
  readonly headers?: readonly (typeof CLIENT_HEADER | 'If-Match' | 'If-None-Match')[]
  /** The statuses of the answers that have an `ETag`. */
  readonly etag?: readonly number[]
  readonly body?: v.GenericSchema
  /** The body may be a form, as Pusher's clients send it. */
  readonly form?: true
  /** The setting that limits the body. Default `maxBody`. */
  readonly limit?: 'maxBody' | 'maxDocument'
  /** It comes every few seconds, so it is logged at the level `debug`. */
  readonly isFrequent?: true
  /**
   * `holder`: a limit of its own, so that no other requests of an address cost it its leases. `telemetry`: a limit in
   * addition to the usual one. `none`: no limit.
   */
  readonly rate?: 'holder' | 'telemetry' | 'none'
  /** By status; `null` is plain text, or nothing with 304. Every error that is not listed is `errorBody`. */
  readonly answers: Readonly<Record<number, v.GenericSchema | null>>
  readonly handle: (request: RouteRequest<never>) => Reply | Promise<Reply>
}

/** A request that has passed all checks. */
export interface RouteRequest<Body> {
  readonly identity: Identity
  /** The client that sent it. A beacon names its client in the body, because it cannot set a header. */
  client(clientId?: string): Promise<LockClient>
  /** Empty if the path has none. */
  readonly room: string
  readonly resource: string
  readonly appId: string
  readonly channel: string
  /** The user in the path of the Pusher protocol. */
  readonly user: string
  readonly body: Body
  /** What the limits count: an address, or a session where addresses are not known. */
  readonly limitKey: string
  /** Set for a request that stays open until something happens, so that it is measured apart. */
  isLong: boolean
  /** The name is in lower case. */
  readonly header: HeaderOf
  query<T>(name: string, parameter: QueryParameter<T>): T | undefined
  queries(name: string): readonly string[]
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status?: number
  /** An object is sent as JSON. */
  readonly body: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** Checks that the handler accepts the body that its schema lets through. */
export function route<Schema extends v.GenericSchema = v.GenericSchema<undefined>>(
  method: Route['method'],
  path: string,
  definition: Omit<Route, 'method' | 'path' | 'handle' | 'body'> & {
    readonly body?: Schema
    readonly handle: (request: RouteRequest<v.InferOutput<Schema>>) => Reply | Promise<Reply>
  },
): Route {
  return { method, path, ...definition }
}
