import type * as v from 'valibot'

export type JsonSchema = { readonly [key: string]: unknown }

/** What Valibot keeps of a schema; only the kinds that the protocol uses are known. */
interface Described {
  readonly kind: string
  readonly type: string
  readonly pipe?: readonly Described[]
  readonly entries?: Readonly<Record<string, Described>>
  readonly options?: readonly unknown[]
  readonly literal?: unknown
  readonly item?: Described
  readonly value?: Described
  readonly wrapped?: Described
  readonly requirement?: unknown
}

/** JSON Schema of a Valibot schema, for the OpenAPI document. Throws for a kind that it does not know. */
export function jsonSchema(schema: v.GenericSchema): JsonSchema {
  return convert(schema as unknown as Described)
}

function convert(schema: Described): JsonSchema {
  if (schema.pipe)
    return Object.assign(
      {},
      ...schema.pipe.map((step) => (step.kind === 'schema' ? plain(step) : checkOf(step))),
    )
  return plain(schema)
}

function plain(schema: Described): JsonSchema {
  const inner = (part: Described | undefined) => (part ? convert(part) : {})
  switch (schema.type) {
    case 'string':
    case 'number':
    case 'boolean':
      return { type: schema.type }
    case 'unknown':
      return {}
    case 'literal':
      return { const: schema.literal }
    case 'picklist':
      return { enum: schema.options }
    case 'nullable':
      return { anyOf: [inner(schema.wrapped), { type: 'null' }] }
    case 'exact_optional':
      return inner(schema.wrapped)
    case 'array':
      return { type: 'array', items: inner(schema.item) }
    case 'record':
      return { type: 'object', additionalProperties: inner(schema.value) }
    case 'union':
      return { anyOf: (schema.options as readonly Described[]).map(convert) }
    case 'object':
    case 'loose_object':
      return objectSchema(schema.entries ?? {})
    default:
      throw new TypeError(`no JSON Schema for ${schema.type}`)
  }
}

function objectSchema(entries: Readonly<Record<string, Described>>): JsonSchema {
  const names = Object.keys(entries)
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, convert(entry)])),
    required: names.filter((name) => entries[name]?.type !== 'exact_optional'),
  }
}

function checkOf({ type, requirement }: Described): JsonSchema {
  switch (type) {
    case 'integer':
    case 'safe_integer':
      return { type: 'integer' }
    case 'min_value':
      return { minimum: requirement }
    case 'max_value':
      return { maximum: requirement }
    case 'min_length':
      return { minLength: requirement }
    case 'max_length':
      return { maxLength: requirement }
    case 'regex':
      return { pattern: (requirement as RegExp).source }
    default:
      throw new TypeError(`no JSON Schema for ${type}`)
  }
}
