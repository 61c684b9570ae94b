import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'](\.[^"']+)["']/g

/** The files of an installed package that these modules and declarations load, also on demand. */
export function reachedFiles(starts: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>()
  const visit = (path: string) => {
    if (reached.has(path) || !existsSync(path)) return
    reached.add(path)
    const isDeclaration = /\.d\.c?ts$/.test(path)
    for (const [, specifier = ''] of readFileSync(path, 'utf8').matchAll(IMPORT)) {
      const target = join(dirname(path), specifier)
      visit(isDeclaration ? target.replace(/\.[jt]sx?$/, '.d.ts') : target)
    }
  }
  for (const path of starts) visit(path)
  return reached
}
