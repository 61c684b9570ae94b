import * as v from 'valibot'
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
