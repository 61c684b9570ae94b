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
  const values = valuesOf(path).flatMap(({ name, isClass }) => [
    `export declare const ${name}: typeof entry.${name}`,
    ...(isClass ? [`export type ${name} = entry.${name}`] : []),
  ])
  return [`import type * as entry from ${source}`, `export type * from ${source}`, ...values, ''].join('\n')
}

interface Value {
  readonly name: string
  readonly isClass: boolean
}

function valuesOf(path: string): Value[] {
  const { program, module } = parseSync(path, readFileSync(path, 'utf8'))
  const classes = program.body.flatMap((node) =>
    node.type === 'ExportNamedDeclaration' && node.declaration?.type === 'ClassDeclaration'
      ? [node.declaration.id?.name]
      : [],
  )
  return module.staticExports
    .flatMap(({ entries }) => entries)
    .map(({ exportName, importName, moduleRequest }) => {
      const name = exportName.name ?? ''
      if (!moduleRequest) return { name, isClass: classes.includes(name) }
      const found = valuesOf(join(dirname(path), moduleRequest.value))
      return { name, isClass: found.some((value) => value.name === importName.name && value.isClass) }
    })
}
