import type {
  Class,
  Declaration,
  ParamPattern,
  PropertyKey,
  TSSignature,
  TSType,
  TSTypeParameterDeclaration,
} from '@oxc-project/types'
import type { DeclarationFile, Found } from './module.ts'
import { alternatives, type FunctionType, OPAQUE, several, type Type, type Types } from './type.ts'

type Members = Record<string, Type>

interface Scope {
  readonly module: DeclarationFile
  /** Names of type parameters, of which nothing is known. */
  readonly parameters: ReadonlySet<string>
  /** How the surroundings are called, for object types without a name. */
  readonly place: string
}

interface Callable {
  readonly params: readonly ParamPattern[]
  readonly returnType?: { readonly typeAnnotation: TSType } | null
  readonly typeParameters?: TSTypeParameterDeclaration | null
}

/** One of the names after `extends`. */
interface Heritage {
  readonly expression: { readonly type: string }
  readonly typeArguments?: { readonly params: readonly TSType[] } | null
}

/** Members that a class or an interface inherits from the language. */
const INHERITED: Record<string, readonly string[]> = {
  AsyncDisposable: ['[Symbol.asyncDispose]'],
  Disposable: ['[Symbol.dispose]'],
}

/** Reads types from declarations. Each named type is kept in `types` once, under its file and name. */
export class TypeReader {
  readonly types: Types = {}

  ofDeclaration(name: string, { module, node }: Found): Type {
    const scope = inside({ module, parameters: new Set(), place: name }, node)
    switch (node.type) {
      case 'TSInterfaceDeclaration':
        return several([
          this.#object(name, {
            ...this.#inherited(node.extends, scope),
            ...this.#members(node.body.body, scope),
          }),
          ...this.#bases(node.extends, scope).filter(({ kind }) => kind === 'list'),
        ])
      case 'TSTypeAliasDeclaration':
        return this.#of(node.typeAnnotation, scope)
      case 'ClassDeclaration':
        return this.#object(name, this.#classMembers(node, scope))
      case 'TSDeclareFunction':
        return this.#function(node, scope)
      case 'VariableDeclaration': {
        const found = node.declarations.find(({ id }) => id.type === 'Identifier' && id.name === name)
        const type = found?.id.typeAnnotation?.typeAnnotation
        return type ? this.#of(type, scope) : OPAQUE
      }
      default:
        return OPAQUE
    }
  }

  /** What `new` takes and gives. */
  ofConstructor(name: string, found: Found): FunctionType {
    const scope = inside({ module: found.module, parameters: new Set(), place: name }, found.node)
    const members = found.node.type === 'ClassDeclaration' ? found.node.body.body : []
    const node = members.find((member) => member.type === 'MethodDefinition' && member.kind === 'constructor')
    const made = node?.type === 'MethodDefinition' ? this.#function(node.value, scope) : undefined
    const returns = this.#named(name, found)
    return {
      kind: 'function',
      name,
      parameters: made?.parameters ?? [],
      required: made?.required ?? 0,
      rest: made?.rest ?? false,
      returns,
    }
  }

  #of(node: TSType, scope: Scope): Type {
    switch (node.type) {
      case 'TSTypeReference':
        return 'name' in node.typeName
          ? this.#reference(node.typeName.name, node.typeArguments?.params ?? [], scope)
          : OPAQUE
      case 'TSTypeLiteral':
        return this.#object(scope.place, this.#members(node.members, scope))
      case 'TSFunctionType':
        return this.#function(node, scope)
      case 'TSArrayType':
        return { kind: 'list', of: this.#of(node.elementType, scope) }
      case 'TSTypeOperator':
        return node.operator === 'readonly' ? this.#of(node.typeAnnotation, scope) : OPAQUE
      case 'TSUnionType':
      case 'TSIntersectionType':
        return several(node.types.map((type) => this.#of(type, scope)))
      case 'TSParenthesizedType':
        return this.#of(node.typeAnnotation, scope)
      case 'TSIndexedAccessType': {
        const [key] = namesIn(node.indexType)
        return this.#membersOf(this.#of(node.objectType, scope))[key ?? ''] ?? OPAQUE
      }
      default:
        return OPAQUE
    }
  }

  #reference(name: string, args: readonly TSType[], scope: Scope): Type {
    if (scope.parameters.has(name)) return OPAQUE
    const [first, second] = args
    const of = () => (first ? this.#of(first, scope) : OPAQUE)
    if (name === 'Promise' || name === 'PromiseLike') return { kind: 'promise', of: of() }
    if (name === 'Array' || name === 'ReadonlyArray') return { kind: 'list', of: of() }
    if (['Partial', 'Readonly', 'Required', 'Awaited', 'NonNullable'].includes(name)) return of()
    if (name in INHERITED) return this.#object(scope.place, inheritedFrom(name, scope.place))
    if (name === 'Pick' || name === 'Omit') {
      const keys = second ? namesIn(second) : []
      const kept = Object.entries(this.#membersOf(of())).filter(
        ([key]) => keys.includes(key) === (name === 'Pick'),
      )
      return this.#object(scope.place, Object.fromEntries(kept))
    }
    const found = scope.module.find(name)
    return found ? this.#named(name, found) : OPAQUE
  }

  #named(name: string, found: Found): Type {
    const declared =
      'id' in found.node && found.node.id && 'name' in found.node.id ? found.node.id.name : name
    const id = `${found.module.path}#${declared}`
    if (!(id in this.types)) {
      this.types[id] = OPAQUE
      this.types[id] = this.ofDeclaration(String(declared), found)
    }
    return { kind: 'reference', id }
  }

  #object(name: string, members: Members): Type {
    return Object.keys(members).length > 0 ? { kind: 'object', name, members } : OPAQUE
  }

  #function(node: Callable, outer: Scope): FunctionType {
    const scope = inside(outer, node)
    const at = (index: number, pattern: ParamPattern) => ({
      ...scope,
      place: `${scope.place}(${nameOf(pattern) ?? index})`,
    })
    const parameters = node.params.map((pattern, index) => {
      const type = 'typeAnnotation' in pattern ? pattern.typeAnnotation?.typeAnnotation : undefined
      return type ? this.#of(type, at(index, pattern)) : OPAQUE
    })
    const returns = node.returnType?.typeAnnotation
    return {
      kind: 'function',
      name: scope.place,
      parameters,
      required: node.params.filter((pattern) => !isOptional(pattern)).length,
      rest: node.params.at(-1)?.type === 'RestElement',
      returns: returns ? this.#of(returns, { ...scope, place: `${scope.place}()` }) : OPAQUE,
    }
  }

  #members(signatures: readonly TSSignature[], scope: Scope): Members {
    const members: Members = {}
    for (const node of signatures) {
      if (node.type !== 'TSPropertySignature' && node.type !== 'TSMethodSignature') continue
      if (isNever(node)) continue
      const key = keyOf(node.key)
      const inner = { ...scope, place: `${scope.place}.${key}` }
      if (node.type === 'TSMethodSignature' && node.kind === 'method')
        members[key] = several([members[key] ?? OPAQUE, this.#function(node, inner)])
      else if (node.type === 'TSPropertySignature')
        members[key] = node.typeAnnotation ? this.#of(node.typeAnnotation.typeAnnotation, inner) : OPAQUE
      else members[key] = node.returnType ? this.#of(node.returnType.typeAnnotation, inner) : OPAQUE
    }
    return members
  }

  #classMembers(node: Class, scope: Scope): Members {
    const base = node.superClass?.type === 'Identifier' ? scope.module.find(node.superClass.name) : undefined
    const members: Members = base ? { ...this.#membersOf(this.ofDeclaration(scope.place, base)) } : {}
    for (const member of node.body.body) {
      if (!('key' in member) || member.key.type === 'PrivateIdentifier') continue
      if (('accessibility' in member && member.accessibility) || member.static) continue
      const key = keyOf(member.key)
      const inner = { ...scope, place: `${scope.place}.${key}` }
      if (member.type === 'MethodDefinition' && member.kind === 'method')
        members[key] = this.#function(member.value, inner)
      else if (member.type === 'PropertyDefinition')
        members[key] = member.typeAnnotation ? this.#of(member.typeAnnotation.typeAnnotation, inner) : OPAQUE
    }
    return members
  }

  #inherited(heritage: readonly Heritage[], scope: Scope): Members {
    const members: Members = {}
    for (const base of this.#bases(heritage, scope))
      for (const [key, type] of Object.entries(this.#membersOf(base)))
        members[key] = renamed(type, `${scope.place}.${key}`)
    return members
  }

  #bases(heritage: readonly Heritage[], scope: Scope): Type[] {
    return heritage.map(({ expression, typeArguments }) => {
      const name = 'name' in expression ? String(expression.name) : ''
      return this.#reference(name, typeArguments?.params ?? [], scope)
    })
  }

  #membersOf(type: Type): Members {
    const objects = alternatives(type, this.types).filter((one) => one.kind === 'object')
    return Object.assign({}, ...objects.map(({ members }) => members))
  }
}

/** A property that must not be there is no option. */
function isNever(node: TSSignature): boolean {
  return node.type === 'TSPropertySignature' && node.typeAnnotation?.typeAnnotation.type === 'TSNeverKeyword'
}

function inheritedFrom(name: string, place: string): Members {
  const methods = (INHERITED[name] ?? []).map((key): [string, FunctionType] => {
    const method = { name: `${place}.${key}`, parameters: [], required: 0, rest: false, returns: OPAQUE }
    return [key, { kind: 'function', ...method }]
  })
  return Object.fromEntries(methods)
}

/** An inherited method counts for the type that inherits it. */
function renamed(type: Type, name: string): Type {
  return type.kind === 'function' ? { ...type, name } : type
}

function inside(scope: Scope, node: Declaration | Callable): Scope {
  const declared = 'typeParameters' in node ? node.typeParameters?.params : undefined
  const names = declared?.map(({ name }) => name.name) ?? []
  return { ...scope, parameters: new Set([...scope.parameters, ...names]) }
}

function keyOf(key: PropertyKey): string {
  if (key.type === 'Identifier' || key.type === 'PrivateIdentifier') return key.name
  if (key.type === 'Literal') return String(key.value)
  return key.type === 'MemberExpression' && 'name' in key.property ? `[Symbol.${key.property.name}]` : '?'
}

function isOptional(pattern: ParamPattern): boolean {
  return pattern.type === 'RestElement' || ('optional' in pattern && Boolean(pattern.optional))
}

function nameOf(pattern: ParamPattern): string | undefined {
  if (pattern.type === 'Identifier') return pattern.name
  return pattern.type === 'RestElement' && pattern.argument.type === 'Identifier'
    ? pattern.argument.name
    : undefined
}

/** The names in `'a' | 'b'`. */
function namesIn(node: TSType): string[] {
  if (node.type === 'TSUnionType') return node.types.flatMap(namesIn)
  return node.type === 'TSLiteralType' && 'value' in node.literal ? [String(node.literal.value)] : []
}
