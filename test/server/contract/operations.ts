/** The operations of an OpenAPI document, and requests for them. */
import fc from 'fast-check'
import { BrokenField, invalid, type JsonSchema, valid } from './schema.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: JsonSchema
}

export interface Declared {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: JsonSchema }>>
}

interface OpenApiOperation {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: Declared & { readonly required: boolean }
  readonly responses: Readonly<Record<string, Declared>>
}

export interface OpenApi {
  readonly components: { readonly responses: Readonly<Record<string, Declared>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
}

export interface Operation extends OpenApiOperation {
  readonly method: string
  readonly path: string
}

export function operationsOf({ paths, components }: OpenApi): Operation[] {
  const resolved = (declared: Declared & { readonly $ref?: string }) =>
    components.responses[declared.$ref?.split('/').at(-1) ?? ''] ?? declared
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, declared]) => [status, resolved(declared)]),
      ),
      method: method.toUpperCase(),
      path,
    })),
  )
}

/** A value that the state of the service decides: one of those that it has answered, the latest at place 0. */
export interface FromState {
  readonly state: 'token' | 'request' | 'etag'
  readonly at: number
}

export interface Call {
  readonly operation: string
  readonly sender: number
  /** Whether the document allows the request. */
  readonly isValid: boolean
  readonly path: Readonly<Record<string, string>>
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly headers: Readonly<Record<string, string | FromState>>
  readonly body?: unknown
}

/** Few names, so that calls meet. */
const NAMES = ['room', 'room', 'room', 'room', 'räume/1', 'a b', 'document:room', '%', '🔒']
/** The first session, or the program, comes most often, so that it often holds what it uses. */
const SENDERS = { documents: [0, 0, 0, 0, 0, 1, 3], others: [2, 2, 2, 3, 3, 0] }
const IDS = ['id-1', 'id-2']

/** Mostly the latest one. */
const fromState = (state: FromState['state']) =>
  fc.record({ state: fc.constant(state), at: fc.constantFrom(0, 0, 0, 0, 1, 2) })

function bodyOverride(name: string): fc.Arbitrary<unknown> | undefined {
  if (name === 'token' || name === 'replace') return fromState('token')
  if (name === 'id') return fc.constantFrom(...IDS)
  if (name === 'request_id') return fromState('request')
  if (name === 'resource' || name === 'channel') return fc.constantFrom(...NAMES)
  if (name === 'channel_name') return fc.constantFrom('private-document.room', 'presence-document.room')
  if (name === 'ttl') return fc.constant(60_000)
  if (name === 'atLeast' || name === 'lockDelay') return fc.constantFrom(0, 10)
  if (name === 'sequence') return fc.nat(3)
  if (name === 'socket_id') return fc.constant('1.2')
  if (name === 'client_id') return fc.constantFrom('tab-1', 'tab-2')
  return undefined
}

/** A call of this operation, which the document allows or not. */
export function callOf(operation: Operation): fc.Arbitrary<Call> {
  const { operationId, path, parameters, requestBody } = operation
  const ofKind = (kind: Parameter['in']) => parameters.filter((parameter) => parameter.in === kind)
  const base = fc.record({
    operation: fc.constant(operationId),
    sender: fc.constantFrom(...SENDERS[path.startsWith('/api/documents') ? 'documents' : 'others']),
    path: fc.record(Object.fromEntries(ofKind('path').map((each) => [each.name, pathValue(each)]))),
    query: fc.tuple(...ofKind('query').map(queryValues)).map((each) => each.flat()),
    headers: headersOf(ofKind('header')),
    ...(requestBody && { body: validBody(requestBody) }),
  })
  const allowed = base.map((call) => ({ ...call, isValid: true }))
  const broken = breakages(operation).map((breakage) =>
    fc.tuple(base, breakage).map(([call, change]) => ({ ...change(call), isValid: false })),
  )
  if (broken.length === 0) return allowed as fc.Arbitrary<Call>
  return fc.oneof(
    { weight: 3, arbitrary: allowed },
    { weight: 1, arbitrary: fc.oneof(...broken) },
  ) as fc.Arbitrary<Call>
}

function validBody(body: NonNullable<Operation['requestBody']>): fc.Arbitrary<unknown> {
  const value = valid(bodySchema(body), bodyOverride)
  return body.required ? value : fc.option(value, { nil: undefined })
}

function bodySchema({ content = {} }: Declared): JsonSchema {
  return content['application/json']?.schema ?? {}
}

function pathValue({ name, schema }: Parameter): fc.Arbitrary<string> {
  if (name === 'appId') return fc.constantFrom('holdfast', 'other')
  if (name === 'channel') return fc.constantFrom('presence-document.room', 'news')
  const names = fc.constantFrom(...NAMES)
  const others = valid({ minLength: 1, ...schema }, () => undefined) as fc.Arbitrary<string>
  return fc.oneof({ weight: 5, arbitrary: names }, { weight: 1, arbitrary: others })
}

function queryValues({
  name,
  schema,
  required,
}: Parameter): fc.Arbitrary<readonly (readonly [string, string])[]> {
  const pair = (value: unknown) => [name, String(value)] as const
  const isList = schema.type === 'array'
  const one: fc.Arbitrary<unknown> =
    name === 'resource'
      ? fc.constantFrom(...NAMES)
      : name === 'wait'
        ? fc.constantFrom(0, 0.001, 0.01)
        : valid(isList ? (schema.items ?? {}) : schema, () => undefined)
  const some = isList ? fc.array(one, { minLength: 1, maxLength: 3 }) : one.map((value) => [value])
  const present = some.map((values) => values.map(pair))
  return required ? present : fc.oneof(fc.constant([]), present)
}

function headersOf(parameters: readonly Parameter[]): fc.Arbitrary<Call['headers']> {
  const values = parameters.map(({ name }): [string, fc.Arbitrary<string | FromState>] => [
    name,
    name === 'X-Holdfast-Client'
      ? fc.constantFrom('tab-1', 'tab-1', 'tab-1', 'tab-2')
      : fc.oneof<fc.Arbitrary<string | FromState>[]>(
          fromState('etag') as fc.Arbitrary<FromState>,
          fc.constantFrom('*', '"0"', '"1", "2"', 'W/"7"'),
        ),
  ])
  return fc.record(Object.fromEntries(values), { requiredKeys: [] }) as fc.Arbitrary<Call['headers']>
}

type Draft = Omit<Call, 'isValid'>

/** What turns a valid call into one that the document does not allow. */
function breakages({ parameters, requestBody }: Operation): fc.Arbitrary<(call: Draft) => Draft>[] {
  const found: fc.Arbitrary<(call: Draft) => Draft>[] = []
  for (const { name, in: place, schema, required } of parameters) {
    if (place === 'query') {
      const others = (call: Draft) => call.query.filter(([other]) => other !== name)
      if (required) found.push(fc.constant((call) => ({ ...call, query: others(call) })))
      const values = brokenTexts(schema)
      if (values.length > 0)
        found.push(
          fc
            .constantFrom(...values)
            .map((value) => (call) => ({ ...call, query: [...others(call), [name, value] as const] })),
        )
    }
    if (place === 'header') {
      const value = schema.pattern === undefined ? '' : '\u00e9 ?'
      if (value !== '')
        found.push(fc.constant((call) => ({ ...call, headers: { ...call.headers, [name]: value } })))
    }
  }
  const wrong = requestBody && invalid(bodySchema(requestBody))
  if (wrong)
    found.push(
      wrong.map((value) => (call) => {
        if (!(value instanceof BrokenField)) return { ...call, body: value }
        const { [value.name]: _, ...rest } = Object(call.body) as Record<string, unknown>
        return { ...call, body: value.value === undefined ? rest : { ...rest, [value.name]: value.value } }
      }),
    )
  return found
}

/** Texts that a parameter of this schema does not take. */
function brokenTexts({
  type,
  items,
  enum: choices,
  minimum,
  maximum,
  maxLength,
  minLength,
}: JsonSchema): string[] {
  if (items) return brokenTexts(items)
  const isNumber = type === 'integer' || type === 'number'
  return [
    ...(isNumber ? ['many', '', '-1', '1e3', '0x10'] : []),
    ...(type === 'integer' ? ['1.5'] : []),
    ...(choices ? ['no such choice'] : []),
    ...(minimum !== undefined && minimum > 0 ? [String(minimum - 1)] : []),
    ...(maximum !== undefined ? [String(maximum + 1)] : []),
    ...(maxLength !== undefined && !isNumber ? ['x'.repeat(maxLength + 1)] : []),
    ...(minLength !== undefined && minLength > 0 && !isNumber ? [''] : []),
  ]
}
