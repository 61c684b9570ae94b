import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Declaration, Program } from '@oxc-project/types'
import { parseSync } from 'rolldown/utils'

/** Where a name is declared. */
export interface Found {
  readonly module: DeclarationFile
  readonly node: Declaration
}

interface Alias {
  readonly from: string
  /** `*` for `import * as`. */
  readonly name: string
}

const files = new Map<string, DeclarationFile>()

export function declarationFile(path: string): DeclarationFile {
  const file = files.get(path) ?? new DeclarationFile(path)
  files.set(path, file)
  return file
}

/** The names of one `.d.ts` file. It follows a name through imports and exports to its declaration. */
export class DeclarationFile {
  /** The names that are exported as values: functions, classes and constants. */
  readonly values: readonly string[]
  readonly path: string
  readonly #declared = new Map<string, Declaration>()
  readonly #imported = new Map<string, Alias>()
  readonly #exported = new Map<string, Alias>()
  /** The files of `export * from`. */
  readonly #exportedWhole: string[] = []

  constructor(path: string) {
    this.path = path
    const { program, module, errors } = parseSync(path, readFileSync(path, 'utf8'))
    if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
    this.#readDeclarations(program)
    for (const { entries, moduleRequest } of module.staticImports)
      for (const { importName, localName } of entries)
        this.#imported.set(localName.value, { from: moduleRequest.value, name: importName.name ?? '*' })
    const exports = module.staticExports.flatMap(({ entries }) => entries)
    for (const { exportName, importName, localName, moduleRequest } of exports) {
      const name = importName.name ?? localName.name
      if (exportName.name && name)
        this.#exported.set(exportName.name, { from: moduleRequest?.value ?? '', name })
      else if (moduleRequest) this.#exportedWhole.push(moduleRequest.value)
    }
    this.values = exports
      .filter(({ isType, moduleRequest }) => !isType || !moduleRequest)
      .flatMap(({ exportName, moduleRequest }) =>
        exportName.name ? exportName.name : (this.#file(moduleRequest?.value ?? '')?.values ?? []),
      )
      .filter((name) => isValue(this.exported(name)?.node))
  }

  /** All exported names: values and types. */
  get names(): readonly string[] {
    const whole = this.#exportedWhole.flatMap((from) => this.#file(from)?.names ?? [])
    return [...new Set([...this.#exported.keys(), ...whole])]
  }

  /** `undefined`: not declared in this package. */
  exported(name: string): Found | undefined {
    const alias = this.#exported.get(name)
    if (alias) return alias.from ? this.#follow(alias) : this.find(alias.name)
    for (const from of this.#exportedWhole) {
      const found = this.#follow({ from, name })
      if (found) return found
    }
    return undefined
  }

  /** What a name stands for inside of this file. */
  find(name: string): Found | undefined {
    const node = this.#declared.get(name)
    if (node) return { module: this, node }
    const alias = this.#imported.get(name)
    return alias && this.#follow(alias)
  }

  #follow({ from, name }: Alias): Found | undefined {
    return this.#file(from)?.exported(name)
  }

  #file(from: string): DeclarationFile | undefined {
    if (!from.startsWith('.')) return undefined
    const path = join(dirname(this.path), from).replace(/\.tsx?$/, '.d.ts')
    return existsSync(path) ? declarationFile(path) : undefined
  }

  #readDeclarations({ body }: Program): void {
    for (const statement of body) {
      const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
      if (!node) continue
      if (node.type === 'VariableDeclaration')
        for (const { id } of node.declarations) {
          if (id.type === 'Identifier') this.#declared.set(id.name, node)
        }
      else if ('id' in node && node.id && 'name' in node.id && isDeclaration(node))
        this.#declared.set(String(node.id.name), node)
    }
  }
}

function isDeclaration(node: { type: string }): node is Declaration {
  return node.type === 'TSInterfaceDeclaration' || node.type === 'TSTypeAliasDeclaration' || isValue(node)
}

function isValue(node: { type: string } | undefined): boolean {
  return ['TSDeclareFunction', 'ClassDeclaration', 'VariableDeclaration'].includes(node?.type ?? '')
}
