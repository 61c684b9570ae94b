import { declarationFile, type Found } from './module.ts'

/** One name that an entry exports, with the types of this package that its declaration mentions. */
export interface PublicName {
  readonly name: string
  /** Its file and its own name: the same declaration has the same id in every entry. */
  readonly id: string
  /** An interface, another type or a class. Otherwise it is only a value. */
  readonly isType: boolean
  /** How many type parameters it has. */
  readonly parameters: number
  /** The ids of the mentioned types, each with the name under which the declaration mentions it. */
  readonly mentions: ReadonlyMap<string, string>
}

/** The names that an entry exports. `path`: of its `.d.ts` file. */
export function publicNames(path: string): PublicName[] {
  const file = declarationFile(path)
  return file.names.flatMap((name) => {
    const found = file.exported(name)
    if (!found) return []
    const isType = /^(TS(Interface|TypeAlias)|Class)Declaration$/.test(found.node.type)
    const declared = 'typeParameters' in found.node ? found.node.typeParameters?.params : undefined
    const parameters = declared?.filter((parameter) => !parameter.default).length ?? 0
    return [{ name, id: idOf(name, found), isType, parameters, mentions: mentionsIn(found) }]
  })
}

function idOf(name: string, { module, node }: Found): string {
  const declared = 'id' in node && node.id && 'name' in node.id ? String(node.id.name) : name
  return `${module.path}#${declared}`
}

function mentionsIn({ module, node }: Found): Map<string, string> {
  const mentions = new Map<string, string>()
  const parameters = new Set<string>()
  visit(node, (one) => {
    if (one['type'] === 'TSTypeParameter') parameters.add(nameIn(one['name']) ?? '')
  })
  visit(node, (one) => {
    const name = mentionedBy(one)
    if (name === undefined || parameters.has(name)) return
    const found = module.find(name)
    if (found && found.node !== node) mentions.set(idOf(name, found), name)
  })
  return mentions
}

/** The name of the type that this node of the syntax tree mentions. */
function mentionedBy(node: Readonly<Record<string, unknown>>): string | undefined {
  switch (node['type']) {
    case 'TSTypeReference':
      return nameIn(node['typeName'])
    case 'TSInterfaceHeritage':
    case 'TSClassImplements':
      return nameIn(node['expression'])
    case 'ClassDeclaration':
      return nameIn(node['superClass'])
    default:
      return undefined
  }
}

function nameIn(node: unknown): string | undefined {
  const { type, name } = Object(node) as { readonly type?: string; readonly name?: string }
  return type === 'Identifier' ? name : undefined
}

function visit(node: unknown, on: (node: Readonly<Record<string, unknown>>) => void): void {
  if (Array.isArray(node)) for (const one of node) visit(one, on)
  else if (typeof node === 'object' && node !== null) {
    on(node as Record<string, unknown>)
    for (const value of Object.values(node)) visit(value, on)
  }
}
