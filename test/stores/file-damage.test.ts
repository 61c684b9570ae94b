import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LeaseRecord, LeaseStore } from '../../src/core/index.ts'
import { nodeFiles } from '../../src/stores/file/files.ts'
import { freshStore, generationsOf } from './file/fresh-store.ts'

const QUARANTINE_MS = 30_000

async function grab(store: LeaseStore, resource: string, ttl = 10_000): Promise<LeaseRecord> {
  const answer = await store.acquire({ resource, id: crypto.randomUUID(), owner: 'Mika', ttl })
  if (!answer.granted) throw new Error(`${resource} is held by ${answer.holders[0]?.owner}`)
  return answer.lease
}

const FOREIGN = JSON.stringify({
  format: 1,
  change: 'x',
  resource: 'other',
  token: 1,
  lease: null,
  endedAt: 0,
  ended: null,
  forgotten: false,
})

describe('a damaged generation', () => {
  const damages: Record<string, (path: string, text: string) => Promise<void>> = {
    'is empty': (path) => writeFile(path, ''),
    'is truncated': (path) => writeFile(path, '{"format":1,"change":"a-1","resource":"dam'),
    'is not JSON': (path) => writeFile(path, Buffer.from([0, 255, 254, 10])),
    'has fields of other types': (path) => writeFile(path, '{"format":1,"token":"12"}'),
    'is of another resource': (path) => writeFile(path, FOREIGN),
    'has a version that never was': (path) => writeFile(path, FOREIGN.replace('"format":1', '"format":0')),
    'is a directory': async (path) => {
      await rm(path)
      await mkdir(path)
    },
  }

  it.each(Object.entries(damages))(
    'counts as held when it %s, and is replaced after a while',
    async (_, damage) => {
      await using fresh = await freshStore()
      const { store, peer, clock, directory } = fresh
      clock.stop()
      const lease = await grab(store, 'damaged')
      await store.release(lease)
      const file = (await generationsOf(directory, 'damaged')).at(-1) ?? ''
      await damage(file, '')

      const shown = {
        owner: 'an unreadable lease file',
        metadata: { file: expect.stringContaining('n-damaged') },
      }
      expect(await peer.read(['damaged'])).toMatchObject([[shown]])
      expect((await peer.list({ limit: 10 })).leases).toMatchObject([shown])
      for (const by of [peer, store])
        await expect(grab(by, 'damaged')).rejects.toThrow('held by an unreadable lease file')
      expect(await store.renew({ ...lease, ttl: 10_000 })).toMatchObject({ ok: false, holders: [shown] })
      clock.pass(QUARANTINE_MS - 1)
      await expect(grab(peer, 'damaged')).rejects.toThrow('held by an unreadable lease file')

      clock.pass(1)
      const next = await grab(peer, 'damaged')
      expect(next.token).toBeGreaterThan(lease.token + 1)
      expect(await store.read(['damaged'])).toMatchObject([[{ id: next.id }]])
    },
  )

  it('a damaged generation of a newer version is never replaced, and stops neither a list nor a sweep', async () => {
    await using fresh = await freshStore()
    const { store, peer, clock, directory } = fresh
    clock.stop()
    const lease = await grab(store, 'newer')
    await grab(store, 'other', 60 * 60_000)
    const file = (await generationsOf(directory, 'newer')).at(-1) ?? ''
    await writeFile(file, JSON.stringify({ format: 3, resource: 'newer', holder: 'of a later form' }))
    clock.pass(10 * 60_000)
    const refusal = { code: 'other-format', retryable: false, message: expect.stringContaining('update') }
    await expect(grab(peer, 'newer')).rejects.toMatchObject(refusal)
    await expect(store.renew({ ...lease, ttl: 10_000 })).rejects.toMatchObject(refusal)
    await expect(store.release(lease)).rejects.toMatchObject(refusal)
    expect((await peer.list({ limit: 10 })).leases).toMatchObject([{ resource: 'other' }])
    expect(await peer.sweep({ limit: 10 })).toEqual([])
    expect((await generationsOf(directory, 'newer')).at(-1)).toBe(file)
  })

  it('a damaged generation is returned once as expired, like any lease', async () => {
    await using fresh = await freshStore()
    const { store, peer, clock, directory } = fresh
    clock.stop()
    await grab(store, 'damaged')
    await writeFile((await generationsOf(directory, 'damaged')).at(-1) ?? '', '')
    expect(await store.sweep({ limit: 10 })).toEqual([])
    clock.pass(QUARANTINE_MS)
    const swept = await Promise.all([store.sweep({ limit: 10 }), peer.sweep({ limit: 10 })])
    expect(swept.flat()).toMatchObject([{ owner: 'an unreadable lease file', state: 'expired' }])
  })

  it('a damaged generation counts as held for as long as the lease that was there before', async () => {
    await using fresh = await freshStore()
    const { store, clock, directory } = fresh
    clock.stop()
    const lease = await grab(store, 'long', 600_000)
    await store.renew({ ...lease, ttl: 600_001 })
    await writeFile((await generationsOf(directory, 'long')).at(-1) ?? '', '')
    const [[shown] = []] = await store.read(['long'])
    expect(shown?.remaining).toBe(600_000)
    clock.pass(500_000)
    await expect(grab(store, 'long')).rejects.toThrow('unreadable')
  })

  it('a damaged generation may be ended by force', async () => {
    await using fresh = await freshStore()
    const { store, directory } = fresh
    await grab(store, 'forced')
    await writeFile((await generationsOf(directory, 'forced')).at(-1) ?? '', '')
    const answer = await store.acquire({ resource: 'forced', id: 'a', owner: 'a', ttl: 1000 })
    const token = answer.granted ? 0 : (answer.holders[0]?.token ?? 0)
    expect(await store.release({ resource: 'forced', token })).toMatchObject({ ended: { token } })
    await grab(store, 'forced')
  })

  it('a damaged generation costs its holder the lease', async () => {
    await using fresh = await freshStore()
    const { store, peer, clock, directory } = fresh
    clock.stop()
    const { promise: isLost, resolve: lost } = Promise.withResolvers<void>()
    await store.acquire({ resource: 'r', id: 'a', owner: 'a', ttl: 10_000, lost })
    await writeFile((await generationsOf(directory, 'r')).at(-1) ?? '', '')
    await expect(grab(peer, 'r')).rejects.toThrow('unreadable')
    await isLost
  })
})

describe('a directory with foreign files', () => {
  it('a directory with foreign files is used, and the foreign files stay', async () => {
    await using fresh = await freshStore()
    const { store, directory } = fresh
    const { id } = await grab(store, 'r')
    const [file = ''] = await generationsOf(directory, 'r')
    const strangers = [
      join(directory, 'README'),
      join(directory, 'leases', 'a file'),
      join(directory, 'leases', 'n-r', '.DS_Store'),
      join(file, '..', 'notes'),
      join(file, '..', '007'),
    ]
    for (const path of strangers) await writeFile(path, 'x')
    await mkdir(join(directory, 'leases', 'a directory', 'in it'), { recursive: true })
    expect(await store.renew({ resource: 'r', id, ttl: 10_000 })).toMatchObject({ ok: true })
    expect((await store.list({ limit: 10 })).leases).toMatchObject([{ resource: 'r' }])
    expect(await store.sweep({ limit: 10 })).toEqual([])
    const watch = await store.watch(() => {})
    await watch[Symbol.asyncDispose]()
    for (const path of strangers) expect(await nodeFiles.read(path)).toBe('x')
  })

  it('a directory with foreign files gives a clear error if one of them has the name of a resource', async () => {
    await using fresh = await freshStore()
    await grab(fresh.store, 'other')
    await writeFile(join(fresh.directory, 'leases', 'n-r'), '')
    await expect(grab(fresh.store, 'r')).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/^r could not be changed in 100 tries; is a foreign file at .*n-r[?]$/),
    })
  })
})

describe('what a dead process has left', () => {
  const past = new Date(Date.now() - 120_000)

  async function leaveLitter(directory: string): Promise<void> {
    const changes = join(directory, 'changes')
    await writeFile(join(changes, 'n-r.dead-1'), 'half')
    await mkdir(join(changes, 'n-new.dead-2', 'dead-2'), { recursive: true })
    await writeFile(join(changes, 'n-r.alive-1'), 'half')
    for (const name of ['n-r.dead-1', 'n-new.dead-2']) await utimes(join(changes, name), past, past)
  }

  it('what a dead process has left is removed by a sweep when it is old; newer files stay', async () => {
    await using fresh = await freshStore()
    await grab(fresh.store, 'r')
    await leaveLitter(fresh.directory)
    await fresh.store.sweep({ limit: 1 })
    expect(await readdir(join(fresh.directory, 'changes'))).toEqual(['n-r.alive-1'])
  })

  it('what a dead process has left is removed by some of the later acquisitions', async () => {
    await using fresh = await freshStore()
    const { store, directory, clock } = fresh
    clock.random = () => 0.5
    await grab(store, 'r')
    await leaveLitter(directory)
    await grab(store, 'a')
    expect(await readdir(join(directory, 'changes'))).toHaveLength(3)
    clock.random = () => 0
    await grab(store, 'b')
    await store.close()
    expect(await readdir(join(directory, 'changes'))).toEqual(['n-r.alive-1'])
  })
})
