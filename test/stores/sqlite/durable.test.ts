import { unlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { DatabaseFile } from './database-file.ts'

const ASK = { resource: 'r', id: 'a', owner: 'o', ttl: 60_000 }

describe('a SQLite store that waits for the disk', () => {
  it('grants, renews and sweeps only what is on the disk, and releases without it', async () => {
    await using file = new DatabaseFile()
    const store = file.store({ synchronous: 'full' })
    expect(await store.acquire(ASK)).toMatchObject({ granted: true })
    // Now the log cannot be synced.
    unlinkSync(`${file.path}-wal`)
    const failed = {
      code: 'store-unavailable',
      message: expect.stringContaining('cannot be written to the disk'),
    }
    await expect(store.acquire({ ...ASK, resource: 'other' })).rejects.toMatchObject(failed)
    await expect(store.renew(ASK)).rejects.toMatchObject(failed)
    await expect(store.sweep({ limit: 10 })).rejects.toMatchObject(failed)
    expect(await store.acquire({ ...ASK, id: 'b' })).toMatchObject({ granted: false })
    expect(await store.release(ASK)).toMatchObject({ ended: { id: 'a' } })
    await store.close()
  })

  it('a SQLite store that waits for the disk grants many at once', async () => {
    await using file = new DatabaseFile()
    const store = file.store({ synchronous: 'full' })
    const names = Array.from({ length: 200 }, (_, n) => `r${n}`)
    const answers = await Promise.all(names.map((resource) => store.acquire({ ...ASK, resource })))
    expect(answers.filter(({ granted }) => granted)).toHaveLength(200)
    await store.close()
  })

  it('a SQLite store that waits for the disk in memory has no disk to wait for', async () => {
    const store = sqliteStore(':memory:', { synchronous: 'full' })
    expect(await store.acquire(ASK)).toMatchObject({ granted: true })
    await store.close()
  })
})
