/** Values of a JSON Schema, for the part of it that the OpenAPI document uses, and values that break it. */
import fc from 'fast-check'

export interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

const FEW = 3

/** Values that the schema allows. `override` may choose the values of a property by its name. */
export function valid(
  schema: JsonSchema,
  override: (name: string) => fc.Arbitrary<unknown> | undefined,
  name = '',
): fc.Arbitrary<unknown> {
  const chosen = override(name)
  const own = validOwn(schema, override)
  // The values of the state are often right, and those of the schema show what else may come.
  return chosen ? fc.oneof({ weight: 4, arbitrary: chosen }, { weight: 1, arbitrary: own }) : own
}

function validOwn(
  schema: JsonSchema,
  override: (name: string) => fc.Arbitrary<unknown> | undefined,
): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map((each) => valid(each, override)))
  switch (schema.type) {
    case 'object':
      return validObject(schema, override)
    case 'array':
      return fc.array(schema.items ? valid(schema.items, override) : anyJson(), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? FEW, FEW),
      })
    case 'string':
      return validString(schema)
    case 'integer':
      return integerOf(schema)
    case 'number':
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 2 })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return anyJson()
  }
}

function validObject(
  { properties = {}, required = [], additionalProperties }: JsonSchema,
  override: (name: string) => fc.Arbitrary<unknown> | undefined,
): fc.Arbitrary<unknown> {
  if (Object.keys(properties).length === 0 && additionalProperties !== undefined)
    return fc.dictionary(fc.string({ maxLength: 5 }), anyJson(), { maxKeys: FEW, noNullPrototype: true })
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valid(schema, override, name)]),
  )
  return fc.record(fields, { requiredKeys: [...required], noNullPrototype: true })
}

function validString({ pattern = '', minLength = 0, maxLength = 40 }: JsonSchema): fc.Arbitrary<string> {
  const matches = new RegExp(pattern, 'u')
  // Classes of characters and lookaheads are beyond the generator. Most texts have what they ask for.
  const texts =
    pattern === '' || /\\p|\(\?/.test(pattern)
      ? fc.string({ minLength, maxLength: Math.min(maxLength, 40), unit: 'grapheme' })
      : fc.stringMatching(matches)
  return texts.filter(
    (text) => matches.test(text) && text.isWellFormed() && !/\p{Cc}/u.test(text) && text.length >= minLength,
  )
}

function integerOf({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: JsonSchema): fc.Arbitrary<number> {
  return fc.oneof(
    fc.integer({ min: minimum, max: Math.min(maximum, minimum + 20) }),
    fc.constantFrom(minimum, maximum),
  )
}

function anyJson(): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.constantFrom(null, true, 0, 1.5, 'text', '\u0000', '🔒', [], {}),
    fc.jsonValue({ maxDepth: 2 }),
  )
}

/** Values that the schema refuses; `undefined` if it allows every value. */
export function invalid(schema: JsonSchema): fc.Arbitrary<unknown> | undefined {
  if ('const' in schema || schema.enum) return fc.constantFrom('no such choice', -1, [])
  switch (schema.type) {
    case 'object': {
      const wrong = fc.constantFrom<unknown>('text', 7, [], true)
      const { required = [], properties = {} } = schema
      const broken = Object.entries(properties).flatMap(([name, property]) => {
        const values = invalid(property)
        return values ? [values.map((value) => ({ broken: name, value }))] : []
      })
      const missing = required.map((name) => fc.constant({ broken: name, value: undefined }))
      const fields = [...broken, ...missing]
      return fields.length === 0 ? wrong : fc.oneof(wrong, ...fields.map((field) => field.map(brokenField)))
    }
    case 'array':
      return fc.constantFrom<unknown>('text', {}, 7)
    case 'string':
      return fc.constantFrom<unknown>(7, null, {}, ...brokenStrings(schema))
    case 'integer':
    case 'number':
      return fc.constantFrom<unknown>('text', null, ...brokenNumbers(schema))
    case 'boolean':
      return fc.constantFrom<unknown>('true', 1, null)
    default:
      return undefined
  }
}

/** A field that breaks an object which is valid otherwise. */
export class BrokenField {
  readonly name: string
  readonly value: unknown

  constructor(name: string, value: unknown) {
    this.name = name
    this.value = value
  }
}

function brokenField({ broken, value }: { readonly broken: string; readonly value: unknown }): BrokenField {
  return new BrokenField(broken, value)
}

function brokenStrings({ minLength = 0, maxLength }: JsonSchema): string[] {
  return [...(minLength > 0 ? [''] : []), ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)])]
}

function brokenNumbers({ type, minimum, maximum }: JsonSchema): number[] {
  return [
    ...(type === 'integer' ? [1.5] : []),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? [] : [maximum + 1]),
  ]
}
