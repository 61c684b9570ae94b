/** What the recorder has to know of a type. It can be sent to a page as JSON. */
export type Type =
  | { readonly kind: 'opaque' }
  /** A key of `Types`, so that a type may contain itself. */
  | { readonly kind: 'reference'; readonly id: string }
  | ObjectType
  | FunctionType
  | { readonly kind: 'promise' | 'list'; readonly of: Type }
  /** A union or an intersection. */
  | { readonly kind: 'several'; readonly types: readonly Type[] }

export interface ObjectType {
  readonly kind: 'object'
  /** Such as `LeaseOptions`, or `Leases.list(query)` for a type without a name. */
  readonly name: string
  readonly members: Readonly<Record<string, Type>>
}

export interface FunctionType {
  readonly kind: 'function'
  /** Such as `Leases.acquire`. */
  readonly name: string
  readonly parameters: readonly Type[]
  /** How many of them have to be passed. */
  readonly required: number
  /** Whether the last parameter takes all further arguments. */
  readonly rest: boolean
  readonly returns: Type
}

export type Types = Record<string, Type>

export const OPAQUE: Type = { kind: 'opaque' }

/** `null` and `undefined` are not worth a union. */
export function several(types: readonly Type[]): Type {
  const known = types.filter(({ kind }) => kind !== 'opaque')
  return known.length > 1 ? { kind: 'several', types: known } : (known[0] ?? OPAQUE)
}

/** The alternatives of a type, without references and unions. */
export function alternatives(
  type: Type,
  types: Types,
  seen = new Set<string>(),
): Exclude<Type, { kind: 'reference' | 'several' }>[] {
  if (type.kind === 'several') return type.types.flatMap((one) => alternatives(one, types, seen))
  if (type.kind !== 'reference') return [type]
  if (seen.has(type.id)) return []
  return alternatives(types[type.id] ?? OPAQUE, types, new Set([...seen, type.id]))
}
