/**
 * Every function, method and option of the installed package, used on every backend, on the real clock. The servers:
 * HOLDFAST_TEST_REDIS_URL, HOLDFAST_TEST_POSTGRES_URL, HOLDFAST_TEST_MYSQL_URL, HOLDFAST_TEST_NATS_URL,
 * HOLDFAST_TEST_ETCD_URL, FIRESTORE_EMULATOR_HOST.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Result } from './cases/run-each.ts'
import { BACKENDS, type BackendName, COLUMNS, IN_PAGES_NOT_YET, NOT_YET } from './columns.ts'
import { readSurface } from './declarations/surface.ts'
import { compileCases, copyCases, runCases } from './run-cases.ts'
import { runInPage } from './run-pages.ts'
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
    const without = [...NOT_YET, ...IN_PAGES_NOT_YET]
    if (without.length > 0) console.log(`\nwithout cases: ${without.join(', ')}`)
  })

  it('has columns for every entry of the package', () => {
    const known = [...Object.keys(COLUMNS), ...NOT_YET]
    expect(known.sort()).toEqual(surface.entries.map(({ specifier }) => specifier).sort())
  })

  it('is used by cases that compile', () => compileCases(folder))

  it.each(BACKENDS)('works on %s', async (backend) => {
    const result = await (backend === 'chromium' ? runInPage(folder, surface) : runCases(folder, backend))
    results.set(backend, result)
    expect(result.failures).toEqual({})
  })

  it.each(Object.keys(COLUMNS))('is used without a gap: %s', (specifier) => {
    expect(missingIn(specifier, surface, results)).toEqual([])
  })
})
