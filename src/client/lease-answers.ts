import * as v from 'valibot'
import type { LeaseRecord } from '../base/records.ts'
import { fromWire, leaseLost, type leaseRecord, leaseRefusal, leaseReleased } from '../protocol/index.ts'
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

/** Servers that know only exclusive leases name one holder, or none. */
const MAYBE_MISSING = ['holder', 'holders'] as const
export const anyRefusal = v.partial(leaseRefusal, MAYBE_MISSING)
export const anyLost = v.partial(leaseLost, MAYBE_MISSING)
export const anyReleased = v.partial(leaseReleased, MAYBE_MISSING)

type WireLease = v.InferOutput<typeof leaseRecord>

export function leaseOf(lease: WireLease): LeaseRecord {
  return fromWire(lease) as LeaseRecord
}

export function holdersOf(answer: {
  readonly holder?: WireLease | null | undefined
  readonly holders?: readonly WireLease[] | undefined
}): LeaseRecord[] {
  const { holder, holders = holder ? [holder] : [] } = answer
  return holders.map(leaseOf)
}
