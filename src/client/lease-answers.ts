import * as v from 'valibot'
import type { LeaseRecord } from '../base/records.ts'
import { fromWire, type leaseRecord } from '../protocol/index.ts'
import { type ApiResponse, unexpected } from './api.ts'

type Schema = v.GenericSchema<unknown, Record<string, unknown>>

export function isValid<S extends Schema>(
  response: ApiResponse,
  status: number,
  schema: S,
): response is ApiResponse & { readonly body: v.InferOutput<S> } {
  return response.status === status && v.is(schema, response.body)
}

/** The body of a 200, without fields that the schema does not have. Anything else is not an answer of Holdfast. */
export function expectBody<S extends Schema>(response: ApiResponse, schema: S): v.InferOutput<S> {
  const result = v.safeParse(schema, response.body)
  if (response.status !== 200 || !result.success) throw unexpected(response)
  return result.output
}

type WireLease = v.InferOutput<typeof leaseRecord>

export function leaseOf(lease: WireLease): LeaseRecord {
  return fromWire(lease) as LeaseRecord
}

/** Older servers name only one holder. */
export function holdersOf(answer: {
  readonly holder?: WireLease | null
  readonly holders?: readonly WireLease[]
}): LeaseRecord[] {
  const { holder, holders = holder ? [holder] : [] } = answer
  return holders.map(leaseOf)
}
