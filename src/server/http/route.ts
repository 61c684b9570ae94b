import type * as v from 'valibot'
import type { Action, Identity } from '../identity.ts'
import type { Party } from '../locks.ts'
import type { QueryParameter } from './query.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One row of the API: what the router, the checks and the OpenAPI document are made from. */
export interface Route {
  readonly method: Method
  /** As OpenAPI writes it, such as `/api/documents/{roomId}/lock`. */
  readonly path: string
  readonly id: string
  readonly summary: string
  /**
   * What the caller must be allowed to do. `identified`: nothing, but who they are must be known. `null`: anybody
   * may ask, and nobody is asked who they are.
   */
  readonly action: Action | 'identified' | null
  readonly query?: Readonly<Record<string, QueryParameter<unknown>>>
  readonly body?: v.GenericSchema
  /** The body may come as a form, as Pusher's clients send it. */
  readonly form?: true
  /** Which setting bounds the body. Default `maxBody`. */
  readonly limit?: 'maxBody' | 'maxDocument'
  /** Beside the usual limit of requests. */
  readonly rate?: 'telemetry'
  /** By status. Text where there is no schema. Whatever a route may do wrong is `errorBody`. */
  readonly answers: Readonly<Record<number, v.GenericSchema | null>>
  readonly handle: (call: Call<never>) => Reply | Promise<Reply>
}

/** A request that was let in. */
export interface Call<Body> {
  readonly identity: Identity
  /** The caller and its tab. A beacon names its tab in the body. */
  party(client?: string): Promise<Party>
  /** Empty where the path has none. */
  readonly room: string
  readonly resource: string
  readonly body: Body
  query<T>(name: string, parameter: QueryParameter<T>): T | undefined
  queries(name: string): readonly string[]
  /** Aborts when the caller goes away or the server stops. */
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status?: number
  /** An object is sent as JSON. */
  readonly body: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** Checks that the handler takes what the schema of the body lets through. */
export function route<Schema extends v.GenericSchema = v.GenericSchema<undefined>>(
  definition: Omit<Route, 'handle' | 'body'> & {
    readonly body?: Schema
    readonly handle: (call: Call<v.InferOutput<Schema>>) => Reply | Promise<Reply>
  },
): Route {
  return definition
}
