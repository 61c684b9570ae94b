import assert from 'node:assert/strict'
import { LeaseError } from 'holdfast'
import { unique } from './backend.ts'

interface Fenced {
  readonly resource: string
  readonly token: number
  readonly id: string
}

/** A newer lease passes, the older one does not. `check`: a check of the guard that records the lease. */
export async function guardCase(check: (lease: Fenced) => unknown, name = 'guarded'): Promise<void> {
  const lease = (token: number) => ({ resource: `${unique}:${name}`, token, id: `lease-${token}` })
  await check(lease(33))
  await check(lease(34))
  await assert.rejects(
    async () => check(lease(33)),
    (error) => error instanceof LeaseError && error.code === 'stale-token',
  )
}

/** Outside of a transaction a check is refused. */
export async function checkRefusedCase(check: (lease: Fenced) => unknown): Promise<void> {
  await assert.rejects(
    async () => check({ resource: `${unique}:outside`, token: 33, id: 'lease-33' }),
    (error) => error instanceof LeaseError && error.code === 'invalid-argument',
  )
}
