import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { manifest } from '../package/manifest.ts'
import { compileProject } from '../package/packed.ts'
import { publicNames } from './declarations/mentions.ts'

const consumer = inject('consumer')

/** Types that a user fills in. */
const FILLED_IN =
  /(Options|Props|Faults|Query|Settings|Config|Statuses|Names|Details|Harness|SyncSchemas|ConnectionRequest|Observation|Expectations)$/

/** The names of the properties that may be absent and refuse `undefined`. */
const REFUSED = `type Refused<T> = T extends object
  ? { [K in keyof T]-?: {} extends Pick<T, K> ? ({ [P in K]: undefined } extends Pick<T, K> ? never : K) : never }[keyof T]
  : never
`

const types = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
  if (typeof target === 'string' || !target.require) return []
  return publicNames(join(consumer, 'node_modules/holdfast', target.types))
    .filter(({ name, isType }) => isType && FILLED_IN.test(name))
    .map(({ name, parameters }) => ({
      specifier: subpath.replace(/^\./, 'holdfast'),
      type: name + (parameters > 0 ? `<${Array(parameters).fill('never')}>` : ''),
    }))
})

const checkOf = (type: string, n: number) =>
  `export const check${n}: [Refused<${type}>] extends [never] ? true : Refused<${type}> = true\n`

async function compile(file: string, code: string): Promise<string> {
  const compilerOptions = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true },
    ...{ module: 'NodeNext', jsx: 'react-jsx', types: ['node'] },
    lib: ['ES2024', 'ESNext.Disposable', 'DOM', 'DOM.AsyncIterable'],
  }
  await writeFile(join(consumer, file), code)
  const config = JSON.stringify({ compilerOptions, files: [file] })
  await writeFile(join(consumer, `tsconfig.${file}.json`), config)
  return compileProject(consumer, `tsconfig.${file}.json`).then(
    () => '',
    (error) => (error as Error).message,
  )
}

describe('an option that is undefined', () => {
  it('an option that is undefined is accepted by every type that a user fills in, with exactOptionalPropertyTypes', async () => {
    expect(types.length).toBeGreaterThan(80)
    const firstLine = REFUSED.split('\n').length
    const checks = types.map(({ specifier, type }, n) => checkOf(`import('${specifier}').${type}`, n))
    const output = await compile('undefined-options.ts', REFUSED + checks.join(''))
    const refused = Array.from(
      output.matchAll(/^undefined-options\.ts\((\d+),.*?type '(.*)'\.$/gm),
      ([, line, keys]) => {
        const { specifier, type } = types[Number(line) - firstLine] as (typeof types)[number]
        return `${specifier} ${type}: ${keys}`
      },
    )
    expect(refused.length > 0 ? refused : output).toEqual('')
  })

  it('an option that is undefined is refused by a type that does not name undefined', async () => {
    const check = checkOf('{ a?: string; b?: number | undefined; c: string }', 0)
    expect(await compile('refused-options.ts', REFUSED + check)).toMatch(/type '"a"'/)
  })
})
