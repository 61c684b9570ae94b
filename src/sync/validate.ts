/** Schemas for entities and settings. */
import { expectObject, isObject, refuse } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'

/** A schema of Valibot, Zod, ArkType or any other library that follows https://standardschema.dev. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    validate(value: unknown): SchemaResult<T> | Promise<SchemaResult<T>>
  }
}

export type SchemaResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export interface SyncSchemas<E, S> {
  readonly entity?: StandardSchema<E> | undefined
  readonly settings?: StandardSchema<S> | undefined
}

/** Returns the checked value, or throws an error that names it. */
export function conform<T>(name: string, value: unknown, schema: StandardSchema<T> | undefined): T {
  expectObject(name, value)
  const result = schema ? schema['~standard'].validate(value) : { value: value as T }
  if (result instanceof Promise) refuse('validate', 'a schema that answers at once', result)
  const [issue] = result.issues ?? []
  if (!issue && 'value' in result) return result.value
  const path = (issue?.path ?? []).map((part) => `.${String(isObject(part) ? part.key : part)}`).join('')
  throw new LeaseError('invalid-argument', `${name}${path}: ${issue?.message}`)
}
