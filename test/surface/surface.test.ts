/**
 * Every function, method and option of the installed package, used on every backend, on the real clock. The servers:
 * HOLDFAST_TEST_REDIS_URL, HOLDFAST_TEST_POSTGRES_URL, HOLDFAST_TEST_MYSQL_URL, HOLDFAST_TEST_NATS_URL,
 * HOLDFAST_TEST_ETCD_URL, FIRESTORE_EMULATOR_HOST.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Result } from './cases/run-each.ts'
import { BACKENDS, type BackendName, COLUMNS } from './columns.ts'
import { readSurface } from './declarations/surface.ts'
import { compileCases, copyCases, runCases } from './run-cases.ts'
import { runInExtension, runInPage } from './run-pages.ts'
import { missingIn, tableOf } from './table.ts'

const consumer = inject('consumer')
const surface = readSurface(join(consumer, 'node_modules/holdfast'))
const results = new Map<BackendName, Result>()

describe('the surface of the package', () => {
  let folder: string
  beforeAll(async () => {
    folder = await copyCases(consumer, surface)
  })
  afterAll(() => {
    for (const line of tableOf(surface, results)) console.log(line)
  })

  it('the surface of the package has columns for every entry of the package', () => {
    expect(Object.keys(COLUMNS).sort()).toEqual(surface.entries.map(({ specifier }) => specifier).sort())
  })

  it('the surface of the package is used by cases that compile', () => compileCases(folder))

  it.each(BACKENDS)('the surface of the package works on %s', async (backend) => {
    const result = await runOn(backend, folder)
    results.set(backend, result)
    expect(result.failures).toEqual({})
  })

  it.each(Object.keys(COLUMNS))('the surface of the package is used without a gap: %s', (specifier) => {
    expect(missingIn(specifier, surface, results)).toEqual([])
  })
})

function runOn(backend: BackendName, folder: string): Promise<Result> {
  if (backend === 'chromium') return runInPage(folder, surface)
  return backend === 'extension' ? runInExtension(folder, surface) : runCases(folder, backend)
}
