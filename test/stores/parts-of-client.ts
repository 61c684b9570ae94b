/** What every part does on one client of an application, whatever the options of that client are. */
import { expect } from 'vitest'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { createOnce, type JobStore } from '../../src/once/index.ts'
import type { AuditLog, Bus, DocumentStore, SecretStore } from '../../src/server/index.ts'
import { eventually } from '../eventually.ts'

export async function useLeases(store: LeaseStore): Promise<void> {
  await using leases = createLeases(store)
  const first = await leases.acquire('r', { metadata: { a: 1 } })
  const second = leases.acquire('r')
  await eventually(async () => expect(await leases.waiting('r')).toHaveLength(1))
  expect(await leases.inspect('r')).toMatchObject({ id: first.id, token: first.token, metadata: { a: 1 } })
  await first.renew()
  await first.release()
  const next = await second
  expect(next.token).toBeGreaterThan(first.token)
  await next.release()
  const shared = await Promise.all([leases.acquire('s', { share: 2 }), leases.acquire('s', { share: 2 })])
  expect((await leases.list()).leases).toMatchObject(shared.map(({ id }) => ({ id, share: 2 })))
}

interface ServerParts {
  readonly documents: DocumentStore
  readonly audit: AuditLog
  readonly secrets: SecretStore
  readonly bus: Bus
}

export async function useServerParts({ documents, audit, secrets, bus }: ServerParts): Promise<void> {
  expect(await documents.fence('room', { token: 5, holder: 'a' })).toBe(true)
  const saving = await documents.save('room', { token: 5, holder: 'a' }, { text: 'x' }, { revision: 0 })
  expect(saving).toMatchObject({ saved: true, revision: expect.any(Number) })
  expect(await documents.read('room')).toMatchObject({ content: { text: 'x' }, token: 5 })
  expect(await documents.save('room', { token: 4, holder: 'b' }, 'y')).toEqual({ saved: false, fence: 5 })
  await audit.append({ at: '2030-01-01T12:00:00Z', action: 'lock', resource: 'r', token: 3, owner: 'a' })
  expect(await audit.read({ limit: 1 })).toMatchObject({ entries: [{ resource: 'r', token: 3 }] })
  for (const secret of ['the first secret', 'the second secret'])
    expect(await secrets.keep('session', secret)).toBe('the first secret')
  await bus.check?.()
}

export async function useJobs(jobs: JobStore): Promise<void> {
  const once = createOnce(jobs)
  await jobs.add('job')
  expect(await once.run('job', () => ({ done: [1] }))).toMatchObject({ ran: true, result: { done: [1] } })
  expect(await once.run('job', () => 1)).toMatchObject({ ran: false, reason: 'already_finished' })
  expect(await jobs.read('job')).toMatchObject({ finished: true, result: { done: [1] }, attempts: 1 })
}
