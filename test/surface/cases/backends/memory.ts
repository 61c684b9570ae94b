import assert from 'node:assert/strict'
import { systemClock } from 'holdfast'
import { memoryGuard } from 'holdfast/guard'
import { memoryStore } from 'holdfast/memory'
import { memoryJobs, oidcAuthorize } from 'holdfast/once'
import { memoryAudit, memoryBus, memoryDocuments } from 'holdfast/server'
import type { Backend } from '../backend.ts'
import { guardCase } from '../guard.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { completesIn, onceCase, STATUSES } from '../once.ts'
import { lockServerCase } from '../server.ts'
import { auditCase, busCase, documentsCase } from '../server-parts.ts'
import { storeCase } from '../store.ts'
import { storeKitCase } from '../store-kit.ts'
import { storeCallsCase } from '../store-kit-calls.ts'
import { telemetryCase } from '../telemetry.ts'
import { testingCase } from '../testing.ts'

export async function open(): Promise<Backend> {
  return {
    cases: {
      leases: () => leasesCase(() => memoryStore()),
      locks: () => locksCase(() => memoryStore()),
      store: () => storeCase(() => memoryStore({ clock: systemClock })),
      async guard() {
        const guard = memoryGuard()
        await guardCase(guard.check)
        await guardCase((lease) => guard.write(lease, () => {}), 'written')
      },
      async server() {
        await documentsCase(memoryDocuments())
        await documentsCase(memoryDocuments({ clock: systemClock }))
        await auditCase(memoryAudit())
        await auditCase(memoryAudit(100))
        await busCase(memoryBus)
        await lockServerCase()
      },
      telemetry: telemetryCase,
      async storeKit() {
        await storeKitCase()
        await storeCallsCase()
      },
      testing: testingCase,
      async once() {
        const jobs = memoryJobs({ statuses: STATUSES, clock: systemClock })
        await onceCase(memoryJobs(), jobs)
        await completesIn(jobs, (work) =>
          jobs.transaction((tx) => {
            tx.onCommit(() => {})
            return work(tx)
          }),
        )
        await authorizes()
      },
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function authorizes(): Promise<void> {
  const claims = { aud: 'https://worker.example', email: 'queue@example.com', email_verified: true }
  const authorize = oidcAuthorize({ verify: () => claims, audience: claims.aud, email: claims.email })
  const headers = { authorization: 'Bearer a-token' }
  assert.equal(await authorize(new Request('http://localhost/', { headers })), true)
}
