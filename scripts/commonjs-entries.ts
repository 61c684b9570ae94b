/**
 * Writes the CommonJS side of each entry of the package: `index.cjs`, which loads the ES module, and `index.d.cts` for
 * TypeScript. The code itself exists once, so that `require` and `import` get the same `LeaseError`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'

/** `modules`: the paths of the entries, such as `dist/core/index.js`. */
export function writeCommonJsEntries(modules: readonly string[]): void {
  for (const path of modules) {
    const specifier = `'./${basename(path)}'`
    writeFileSync(path.replace(/\.js$/, '.cjs'), `'use strict'\nmodule.exports = require(${specifier})\n`)
    writeFileSync(path.replace(/\.js$/, '.d.cts'), declarationsOf(path, specifier))
  }
}

/** A CommonJS module may only import the types of an ES module, so every value is declared again by its type. */
function declarationsOf(path: string, specifier: string): string {
  const source = `${specifier} with { 'resolution-mode': 'import' }`
  const values = valuesOf(path).flatMap(({ name, type }) => [
    `export declare const ${name}: typeof entry.${name}`,
    ...(type ? [`export type ${name}${type.parameters} = entry.${name}${type.arguments}`] : []),
  ])
  return [`import type * as entry from ${source}`, `export type * from ${source}`, ...values, ''].join('\n')
}

interface Value {
  readonly name: string
  /** Of a class, which is a type too. */
  readonly type?: ClassType | undefined
}

/** `<K, V extends object>` and `<K, V>`, or two empty strings. */
interface ClassType {
  readonly parameters: string
  readonly arguments: string
}

function valuesOf(path: string): Value[] {
  const { module } = parseSync(path, readFileSync(path, 'utf8'))
  const classes = classesOf(path.replace(/\.js$/, '.d.ts'))
  return module.staticExports
    .flatMap(({ entries }) => entries)
    .map(({ exportName, importName, moduleRequest }) => {
      const name = exportName.name ?? ''
      if (!moduleRequest) return { name, type: classes.get(name) }
      const found = valuesOf(join(dirname(path), moduleRequest.value))
      return { name, type: found.find((value) => value.name === importName.name)?.type }
    })
}

/** The exported classes of a declaration file. The code beside it has no type parameters any more. */
function classesOf(path: string): Map<string, ClassType> {
  const text = readFileSync(path, 'utf8')
  const classes = new Map<string, ClassType>()
  for (const node of parseSync(path, text).program.body) {
    if (node.type !== 'ExportNamedDeclaration' || node.declaration?.type !== 'ClassDeclaration') continue
    const { id, typeParameters } = node.declaration
    const names = typeParameters?.params.map((parameter) => parameter.name.name)
    classes.set(id?.name ?? '', {
      parameters: typeParameters ? text.slice(typeParameters.start, typeParameters.end) : '',
      arguments: names ? `<${names.join(', ')}>` : '',
    })
  }
  return classes
}
