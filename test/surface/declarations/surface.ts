import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { manifest } from '../../package/manifest.ts'
import { declarationFile } from './module.ts'
import { TypeReader } from './read-types.ts'
import { type ObjectType, OPAQUE, type Type, type Types } from './type.ts'

/** What a user can touch, as the declarations of the installed package say it. */
export interface Surface {
  readonly entries: readonly Entry[]
  readonly types: Types
}

/** A subpath of the package. */
export interface Entry {
  /** Such as `holdfast/redis`. */
  readonly specifier: string
  readonly values: Readonly<Record<string, Type>>
}

/** What can be done with the values of an entry: call a function or a method, pass an option. */
export interface Uses {
  /** `createLeases`, `Leases.acquire`. */
  readonly calls: ReadonlySet<string>
  /** Those of the calls that have arguments which may be left out. */
  readonly withDefaults: ReadonlySet<string>
  /** `LeaseOptions.ttl`. */
  readonly options: ReadonlySet<string>
}

export function readSurface(installed: string): Surface {
  const reader = new TypeReader()
  const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === 'string' || !target.require) return []
    const path = join(installed, target.types)
    if (!existsSync(path)) throw new Error(`${path} is missing`)
    const file = declarationFile(path)
    const values: Record<string, Type> = {}
    for (const name of file.values) {
      const found = file.exported(name)
      if (!found) throw new Error(`${name} of ${path} is not declared`)
      const isClass = found.node.type === 'ClassDeclaration'
      values[name] = isClass ? reader.ofConstructor(name, found) : reader.ofDeclaration(name, found)
    }
    return [{ specifier: subpath.replace(/^\./, 'holdfast'), values }]
  })
  return { entries, types: reader.types }
}

/** The uses of one entry, or of some of its values. */
export function usesOf(
  entry: Entry,
  surface: Surface,
  isWanted: (value: string) => boolean = () => true,
): Uses {
  const walk = new Walk(surface.types, givenBy(surface))
  for (const [name, type] of Object.entries(entry.values)) if (isWanted(name)) walk.received(type)
  return walk
}

/** The names of the object types that a user gets from the package, so that nobody has to fill them in. */
function givenBy({ entries, types }: Surface): ReadonlySet<string> {
  const walk = new Walk(types, new Set())
  for (const { values } of entries) for (const type of Object.values(values)) walk.received(type)
  return walk.given
}

/** What the package gives is called, what it takes is filled in. A callback turns the direction. */
class Walk implements Uses {
  readonly calls = new Set<string>()
  readonly withDefaults = new Set<string>()
  readonly options = new Set<string>()
  readonly given = new Set<string>()
  readonly #types: Types
  readonly #givenAnywhere: ReadonlySet<string>
  readonly #seen = new Set<string>()

  constructor(types: Types, givenAnywhere: ReadonlySet<string>) {
    this.#types = types
    this.#givenAnywhere = givenAnywhere
  }

  received(type: Type): void {
    this.#each(type, 'received', (one) => {
      if (one.kind === 'promise' || one.kind === 'list') this.received(one.of)
      else if (one.kind === 'object') {
        this.given.add(one.name)
        for (const member of Object.values(one.members)) this.received(member)
      } else if (one.kind === 'function') {
        this.calls.add(one.name)
        if (one.required < one.parameters.length) this.withDefaults.add(one.name)
        for (const parameter of one.parameters) this.#passed(parameter)
        this.received(one.returns)
      }
    })
  }

  #passed(type: Type): void {
    this.#each(type, 'passed', (one) => {
      if (one.kind === 'promise' || one.kind === 'list') this.#passed(one.of)
      else if (one.kind === 'object' && this.#isFilledIn(one)) {
        for (const [key, member] of Object.entries(one.members)) {
          this.options.add(`${one.name}.${key}`)
          this.#passed(member)
        }
      } else if (one.kind === 'function') {
        for (const parameter of one.parameters) this.received(parameter)
        this.#passed(one.returns)
      }
    })
  }

  /** Objects of the package, clients of databases and what a user implements are passed as a whole. */
  #isFilledIn({ name, members }: ObjectType): boolean {
    if (/(Options|Props|Faults)$/.test(name)) return true
    if (/(Client|Api)$/.test(name)) return false
    const hasMethod = Object.values(members).some(({ kind }) => kind === 'function')
    return !hasMethod && !this.#givenAnywhere.has(name)
  }

  #each(type: Type, direction: string, visit: (type: Type) => void): void {
    if (type.kind === 'several') {
      for (const one of type.types) this.#each(one, direction, visit)
    } else if (type.kind === 'reference') {
      const key = `${direction} ${type.id}`
      if (this.#seen.has(key)) return
      this.#seen.add(key)
      this.#each(this.#types[type.id] ?? OPAQUE, direction, visit)
    } else visit(type)
  }
}
