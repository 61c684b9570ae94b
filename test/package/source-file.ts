import { parseSync, Visitor } from 'rolldown/utils'

/** What the rules on the source need to know of one file. */
export interface SourceFile {
  /** From the root of the repository, such as `src/core/lease.ts`. */
  readonly path: string
  /** What it imports or re-exports, types too, as written. */
  readonly imports: readonly string[]
  /** Plain identifiers, and members of plain identifiers such as `Date.now`. */
  readonly names: ReadonlySet<string>
}

export function readSource(path: string, text: string): SourceFile {
  const imports: string[] = []
  const names = new Set<string>()
  const from = ({ source }: { source: unknown }) => {
    if (source instanceof Object && 'value' in source) imports.push(String(source.value))
  }
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  new Visitor({
    ImportDeclaration: from,
    ExportNamedDeclaration: from,
    ExportAllDeclaration: from,
    ImportExpression: from,
    TSImportType: from,
    Identifier: ({ name }) => void names.add(name),
    MemberExpression({ object, property }) {
      if (object.type === 'Identifier' && 'name' in property) names.add(`${object.name}.${property.name}`)
    },
  }).visit(program)
  return { path, imports, names }
}
