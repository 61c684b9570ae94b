import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LeaseError, type LeaseStore } from '../../src/core/index.ts'
import { fileStore } from '../../src/stores/file/index.ts'
import { describeStore } from '../../src/testing/index.ts'
import { freshStore, generationsOf } from './file/fresh-store.ts'

const SETTLE_MS = 20
const HOUR_MS = 3_600_000

describeStore('file', {
  runner: { describe, it },
  supports: { queue: false },
  ttl: 1000,
  create: async () => {
    const fresh = await freshStore()
    return { ...fresh, dispose: async () => fresh[Symbol.asyncDispose]() }
  },
  // The push uses real files, so a part of the time must be real.
  pass: async ({ clock }, ms) => {
    clock.pass(Math.max(0, ms - SETTLE_MS))
    await new Promise((resolve) => setTimeout(resolve, Math.min(ms, SETTLE_MS)))
  },
  stepClock: ({ clock }, ms) => clock.jump(ms),
  reopen: async ({ directory, clock, store }) => {
    await store.close()
    return fileStore(directory, { clock })
  },
  interruptWatch: async ({ directory }) => {
    await rm(join(directory, 'changes'), { recursive: true, maxRetries: 20 })
  },
})

let asks = 0

function ask(resource: string, ttl = 30_000) {
  return { resource, id: `lease-${++asks}`, owner: 'Mika', ttl }
}

async function takeAndRelease(store: LeaseStore, resource: string): Promise<number> {
  const request = ask(resource)
  const answer = await store.acquire(request)
  await store.release(request)
  return answer.granted ? answer.lease.token : 0
}

describe('a file store', () => {
  it('a file store refuses a TTL below a second, and says why', async () => {
    await using fresh = await freshStore()
    const short = ask('short', 999)
    for (const call of [fresh.store.acquire(short), fresh.store.renew(short)]) {
      const error = await call.catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(LeaseError)
      expect(error).toMatchObject({
        code: 'invalid-argument',
        message: expect.stringMatching(/^ttl: expected at least 1000 .*file operations.* got 999$/),
      })
    }
  })

  it('a file store refuses an empty path', () => {
    expect(() => fileStore('')).toThrow('directory: expected a path, got ""')
  })

  it('a file store creates its directory for the first lease; until then it reads no leases', async () => {
    await using fresh = await freshStore()
    expect(await fresh.store.read(['x'])).toEqual([[]])
    expect(await fresh.store.list({ limit: 10 })).toEqual({ leases: [] })
    expect(await fresh.store.sweep({ limit: 10 })).toEqual([])
    await expect(readdir(fresh.directory)).rejects.toThrow('ENOENT')
    await takeAndRelease(fresh.store, 'x')
    expect((await readdir(fresh.directory)).sort()).toEqual(['changes', 'leases'])
  })

  it('a file store works again after its directory was deleted, without the leases that were in it', async () => {
    await using fresh = await freshStore()
    const held = ask('held')
    await fresh.store.acquire(held)
    await rm(fresh.directory, { recursive: true })
    expect(await fresh.store.renew(held)).toEqual({ ok: false, holders: [] })
    expect(await fresh.store.acquire(ask('held'))).toMatchObject({ granted: true })
  })

  it('a file store keeps only a few files for each resource', async () => {
    await using fresh = await freshStore()
    for (let n = 0; n < 20; n++) await takeAndRelease(fresh.store, 'often')
    expect(await generationsOf(fresh.directory, 'often')).toHaveLength(4)
    expect(await readdir(join(fresh.directory, 'changes'))).toEqual([])
  })

  it('a file store tells holders whose leases it ended itself, by force or by a sweep', async () => {
    await using fresh = await freshStore()
    const { store, clock } = fresh
    const lost: string[] = []
    const hold = async (resource: string) => {
      const answer = await store.acquire({ ...ask(resource), lost: () => lost.push(resource) })
      return answer.granted ? answer.lease.token : 0
    }
    await store.release({ resource: 'forced', token: await hold('forced') })
    await hold('swept')
    clock.pass(30_000)
    await store.sweep({ limit: 10 })
    expect(lost).toEqual(['forced', 'swept'])
  })

  it('a file store forgets a resource that was free for an hour, and starts it again with a higher token', async () => {
    await using fresh = await freshStore()
    const { store, directory, clock } = fresh
    const token = await takeAndRelease(store, 'old')
    clock.pass(HOUR_MS - 1000)
    await store.sweep({ limit: 10 })
    expect(await readdir(join(directory, 'leases'))).toHaveLength(1)
    clock.pass(1000)
    await store.sweep({ limit: 10 })
    expect(await readdir(join(directory, 'leases'))).toEqual([])
    expect(await readdir(join(directory, 'changes'))).toEqual([])
    clock.jump(-HOUR_MS * 48)
    expect(await takeAndRelease(store, 'new')).toBeGreaterThan(token)
    expect(await takeAndRelease(store, 'old')).toBeGreaterThan(token)
  })

  it('a file store rejects a call when its caller aborts', async () => {
    await using fresh = await freshStore()
    const aborted = { code: 'aborted', cause: new Error('no longer') }
    const stop = new AbortController()
    const call = fresh.store.acquire(ask('slow'), { signal: stop.signal })
    stop.abort(aborted.cause)
    await expect(call).rejects.toMatchObject(aborted)
    await expect(fresh.store.read(['slow'], { signal: stop.signal })).rejects.toMatchObject(aborted)
  })

  it('a file store lists names that are too long for a file name among the others', async () => {
    await using fresh = await freshStore()
    const names = ['a', 'm'.repeat(300), 'n'.repeat(512), 'z']
    for (const name of names.toReversed()) await fresh.store.acquire(ask(name))
    const page = await fresh.peer.list({ limit: 2 })
    expect(page).toMatchObject({ leases: [{ resource: 'a' }, { resource: names[1] }], next: names[1] })
    const { leases } = await fresh.peer.list({ limit: 9, after: names[1] ?? '' })
    expect(leases.map((lease) => lease.resource)).toEqual(names.slice(2))
  })
})
