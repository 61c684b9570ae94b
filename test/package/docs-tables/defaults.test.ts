import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import { it } from 'vitest'
import { root } from '../../../scripts/run-tool.ts'
import { SETTINGS } from '../../../src/configuration/settings.ts'
import { sourceOf } from './declarations.ts'
import { OPTION_TABLES, optionsOf, sameValue } from './option-checks.ts'

it('the number or flag that the comment of an option calls its default is the one that the code uses', () => {
  const mistakes = Object.values(OPTION_TABLES)
    .flat()
    .flatMap((source) => {
      const [file = ''] = source.split('#')
      const files = globSync(`${dirname(file)}/*.{ts,tsx}`, { cwd: root, exclude: ['**/*.test.ts'] })
      const text = [
        file,
        ...files,
        ...globSync('src/{base,server,stores/browser,testing}/options.ts', { cwd: root }),
      ]
        .map(sourceOf)
        .join('\n')
      return optionsOf(source).flatMap(({ name, usual = '' }) => {
        const value = sameValue(usual)
        if (!/^(\d+|true|false)$/.test(value)) return []
        const used = valuesOf(name, text)
        return used.includes(value)
          ? []
          : [`${source}: the comment of ${name} says "${usual}", the code has ${used.join(', ')}`]
      })
    })
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'))
})

/** What the code gives an option that is not set: `name = 5`, `name: 5` or `name ?? 5`. */
function valuesOf(name: string, text: string): string[] {
  const given = text.matchAll(new RegExp(`\\b${name}(?: =|:| \\?\\?) ([^\\n,;})]+)`, 'g'))
  return Array.from(given, ([, expression = '']) => {
    const [last = ''] = expression.split('?? ').slice(-1)
    return numberOf(last.trim(), text)
  })
}

/** The value of a literal, of a product, or of a constant. */
function numberOf(expression: string, text: string): string {
  const isName = /^[A-Za-z]\w*$/.test(expression)
  const [, constant] = isName
    ? (new RegExp(`^(?:export )?const ${expression} = (.+)$`, 'm').exec(text) ?? [])
    : []
  if (constant !== undefined) return numberOf(constant, text)
  const [, setting] = /^SETTINGS\.(\w+)\.default$/.exec(expression) ?? []
  if (setting !== undefined) return String(SETTINGS[setting as keyof typeof SETTINGS].default)
  const factors = expression
    .replaceAll('_', '')
    .replaceAll('2 ** 20', String(2 ** 20))
    .split(' * ')
  if (factors.length === 1) return isName ? expression : sameValue(factors[0] ?? '')
  return String(factors.reduce((product, factor) => product * Number(numberOf(factor, text)), 1))
}
