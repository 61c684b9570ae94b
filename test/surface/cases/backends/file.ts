import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from 'holdfast'
import { fileStore } from 'holdfast/file'
import type { Backend } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-surface-'))
  return {
    cases: {
      leases: () => leasesCase(() => fileStore(directory)),
      locks: () => locksCase(() => fileStore(directory)),
      store: () => storeCase(() => fileStore(directory, { clock: systemClock })),
    },
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true })
    },
  }
}
