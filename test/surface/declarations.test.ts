import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { compileProject } from '../package/packed.ts'

const consumer = inject('consumer')

describe('the declarations of the installed package', () => {
  it.each([
    ['d.ts', true],
    ['d.ts', false],
    ['d.cts', true],
  ])(
    'the declarations of the installed package compile as .%s files, with skipLibCheck off and exactOptionalPropertyTypes %s',
    async (extension, exactOptionalPropertyTypes) => {
      const files = globSync(`node_modules/holdfast/dist/**/*.${extension}`, { cwd: consumer })
      expect(files.length).toBeGreaterThan(0)
      const compilerOptions = {
        ...{ strict: true, exactOptionalPropertyTypes, noEmit: true, skipLibCheck: false },
        ...{
          module: 'NodeNext',
          lib: ['ES2024', 'ESNext.Disposable', 'DOM', 'DOM.AsyncIterable'],
          types: ['node'],
        },
      }
      const config = `tsconfig.${extension}.json`
      await writeFile(join(consumer, config), JSON.stringify({ compilerOptions, files }))
      await compileProject(consumer, config)
    },
  )
})
