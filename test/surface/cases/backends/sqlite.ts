import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import type { Backend } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-surface-'))
  const path = join(directory, 'leases.db')
  return {
    cases: {
      leases: () => leasesCase(() => sqliteStore(path)),
      store: () =>
        storeCase(() => sqliteStore(path, { table: 'other', synchronous: 'full', clock: systemClock })),
    },
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true })
    },
  }
}
