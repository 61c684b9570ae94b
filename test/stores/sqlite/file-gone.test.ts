import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { temporaryDirectory } from '../../cli/holdfast.ts'
import { sqliteServer } from '../../server/sqlite-server.ts'

const GONE = { code: 'store-failed', message: expect.stringMatching(/holdfast\.db was deleted or replaced/) }

it.each([
  ['deleted', (path: string) => rmSync(path)],
  [
    'replaced by a copy of itself',
    (path: string) => {
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
  ],
])('a file that is %s ends grants, renewals and saves, and the server is not ready', async (_, harm) => {
  const path = join(temporaryDirectory(), 'holdfast.db')
  const { url, store, documents } = await sqliteServer(path)
  const ask = { resource: 'held', id: 'id', owner: 'Mika', ttl: 60_000 }
  expect(await store.acquire(ask)).toMatchObject({ granted: true })
  expect(await documents.fence('draft', { token: 1, holder: 'id' })).toBe(true)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)

  harm(path)
  await expect(store.acquire({ ...ask, resource: 'free' })).rejects.toMatchObject(GONE)
  await expect(store.renew({ resource: 'held', id: 'id', ttl: 60_000 })).rejects.toMatchObject(GONE)
  await expect(documents.save('draft', { token: 1, holder: 'id' }, 'text')).rejects.toMatchObject(GONE)
  const readyz = async () => {
    const ready = await fetch(`${url}/readyz`)
    return [ready.status, await ready.json()]
  }
  const failed = { leases: 'store-failed', documents: 'store-failed', audit: 'store-failed' }
  await expect.poll(readyz).toEqual([503, expect.objectContaining({ failed })])
  const lock = await fetch(`${url}/api/documents/other/lock`, { method: 'POST' })
  expect(lock.status).toBe(500)
})

it('a file that is put back is used again', async () => {
  const path = join(temporaryDirectory(), 'holdfast.db')
  const store = sqliteStore(path)
  onTestFinished(() => store.close())
  const ask = { resource: 'held', id: 'id', owner: 'Mika', ttl: 60_000 }
  await store.acquire(ask)
  renameSync(path, `${path}.away`)
  await expect(store.check?.()).rejects.toMatchObject(GONE)
  renameSync(`${path}.away`, path)
  await store.check?.()
  expect(await store.renew({ resource: 'held', id: 'id', ttl: 60_000 })).toMatchObject({ ok: true })
})
