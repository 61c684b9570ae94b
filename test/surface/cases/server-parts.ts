import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  type AuditLog,
  type Bus,
  createLockServer,
  type DocumentStore,
  type SecretStore,
  type ServerParts,
} from 'holdfast/server'
import { unique } from './backend.ts'

export async function documentsCase(documents: DocumentStore): Promise<void> {
  const room = `${unique}-room-${randomUUID()}`
  const grant = { token: 1, holder: 'surface' }
  assert.equal(await documents.fence(room, grant), true)
  const first = await documents.save(room, grant, { text: 'hello' })
  assert(first.saved)
  const second = await documents.save(
    room,
    grant,
    { text: 'hello again' },
    { revision: first.revision, sequence: 2 },
  )
  assert(second.saved)
  const late = await documents.save(room, grant, 'late', { sequence: 1 })
  assert.deepEqual(late, { saved: false, sequence: 2 })
  assert.deepEqual((await documents.read(room))?.content, { text: 'hello again' })
  await documents.check?.()
  await documents.sweep?.()
  assert((await documents.remove(room, grant, { revision: second.revision })).removed)
  await documents.save(room, grant, 'once more')
  assert((await documents.remove(room, grant)).removed)
}

export async function auditCase(audit: AuditLog): Promise<void> {
  const resource = `${unique}-audited`
  for (const token of [1, 2])
    await audit.append({ at: new Date().toISOString(), action: 'lock', resource, token, owner: 'surface' })
  await audit.check?.()
  const newest = await audit.read({ limit: 1, resource })
  assert.equal(newest.entries[0]?.token, 2)
  assert(newest.next)
  const older = await audit.read({ limit: 1, resource, before: newest.next })
  assert.equal(older.entries[0]?.token, 1)
}

export async function secretsCase(secrets: SecretStore): Promise<void> {
  const kept = await secrets.keep(`${unique}-secret`, 'the first secret')
  assert.equal(await secrets.keep(`${unique}-secret`, 'another one'), kept)
  await secrets.check?.()
}

export async function busCase(open: () => Bus & AsyncDisposable): Promise<void> {
  await using bus = open()
  const { promise: received, resolve } = Promise.withResolvers<void>()
  await using _ = await bus.subscribe(({ data }) => data.run === unique && resolve())
  await bus.publish({ topic: 'surface', data: { run: unique } })
  await received
  await bus.check?.()
  await bus.close()
}

/** One call gives all that a server keeps. */
export async function partsCase(
  parts: Omit<ServerParts, 'bus'> & Partial<Pick<ServerParts, 'bus'>>,
): Promise<void> {
  const server = await createLockServer({ ...parts, log: () => {} })
  assert.equal((await server.fetch(new Request('http://localhost/readyz'))).status, 200)
  await server.close()
  await documentsCase(parts.documents)
  await parts.close()
  await parts[Symbol.asyncDispose]()
}
