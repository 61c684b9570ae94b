import assert from 'node:assert/strict'
import { LeaseError } from 'holdfast'
import { unique } from './backend.ts'

interface Guard {
  check(lease: Fenced): unknown
}

interface Fenced {
  readonly resource: string
  readonly token: number
  readonly id: string
}

/** A newer lease passes, the older one does not. */
export async function guardCase(guard: Guard, name = 'guarded'): Promise<void> {
  const lease = (token: number) => ({ resource: `${unique}:${name}`, token, id: `lease-${token}` })
  await guard.check(lease(33))
  await guard.check(lease(34))
  await assert.rejects(
    async () => guard.check(lease(33)),
    (error) => error instanceof LeaseError && error.code === 'stale-token',
  )
}
