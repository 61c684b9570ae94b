/**
 * Comments are for the readers of the sources, and of the declarations in an editor. The code of the package is without
 * them, and indented by one character, which makes it a quarter smaller. Names and lines stay, for stack traces.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { minifySync } from 'rolldown/utils'

export function stripComments(dist: string): void {
  for (const name of globSync('**/*.js', { cwd: dist, exclude: ['web/**'] })) {
    const path = join(dist, name)
    const options = { compress: false, mangle: false, codegen: { removeWhitespace: false } }
    const { code, errors } = minifySync(path, readFileSync(path, 'utf8'), options)
    if (errors.length > 0) throw new Error(`${name}: ${errors[0]?.message}`)
    writeFileSync(path, code)
  }
}
