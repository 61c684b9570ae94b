import { describe, expect, it, vi } from 'vitest'
import { RunningClock } from '../../../test/stores/sqlite/running-clock.ts'
import { FakeFileSystem } from '../../../test/web/fake-directory.ts'
import { LeaseError } from '../../base/errors.ts'
import type { LeaseStore } from '../../core/index.ts'
import { describeStore, FakeClock } from '../../testing/index.ts'
import { directoryStore } from './index.ts'

let names = 0

describeStore('directory, on a fake file system', {
  runner: { describe, it },
  contention: 20,
  create: async () => {
    const clock = new RunningClock()
    const { root } = new FakeFileSystem(clock)
    const file = `conformance-${++names}.json`
    const open = () => directoryStore(root, { file, clock })
    const [store, peer] = [open(), open()]
    const dispose = async () => {
      await Promise.all([store.close(), peer.close()])
      clock.stop()
    }
    return { clock, open, store, peer, dispose }
  },
  // Messages between the stores take real time.
  pass: async ({ clock }, ms) => {
    await clock.advance(ms)
    await new Promise((resolve) => setTimeout(resolve, 5))
  },
  stepClock: ({ clock }, ms) => clock.jump(ms),
  reopen: async ({ open, store }) => {
    await store.close()
    return open()
  },
})

function acquire(store: LeaseStore, clock: FakeClock, id = '1') {
  const asking = store
    .acquire({ resource: 'a', id, owner: 'me', ttl: 1000 })
    .catch((error: LeaseError) => error)
  return clock.advance(100).then(() => asking)
}

describe('a directory store', () => {
  it('a directory store grants nothing for 30 s from a damaged file, though the clock was set back since its last change', async () => {
    const clock = new FakeClock()
    const files = new FakeFileSystem(clock)
    files.put('holdfast.json', 'damaged')
    clock.jump(-86_400_000)
    const store = directoryStore(files.root, { clock })
    expect(await acquire(store, clock)).toMatchObject({ code: 'store-unavailable' })
    await clock.advance(29_000)
    expect(await acquire(store, clock)).toMatchObject({ code: 'store-unavailable' })
    await clock.advance(1000)
    expect(await acquire(store, clock)).toMatchObject({ granted: true })
    await store.close()
  })

  it('a directory store works on a page without https, where there is no crypto.randomUUID', async () => {
    const { getRandomValues } = crypto
    vi.stubGlobal('crypto', { getRandomValues: getRandomValues.bind(crypto) })
    const clock = new FakeClock()
    const store = directoryStore(new FakeFileSystem(clock).root, { clock })
    expect(await acquire(store, clock)).toMatchObject({ granted: true })
    await store.close()
    vi.unstubAllGlobals()
  })

  it('a directory store writes nothing for a caller that has gone', async () => {
    const clock = new FakeClock()
    const files = new FakeFileSystem(clock)
    const store = directoryStore(files.root, { clock })
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    files.refuse = (operation) => (operation === 'write' ? opened : undefined)
    expect(await Promise.all([acquire(store, clock), clock.advance(5100)])).toMatchObject([
      { code: 'store-unavailable' },
      undefined,
    ])
    files.refuse = () => {}
    open()
    await clock.advance(100)
    expect(await store.read(['a'])).toEqual([[]])
    expect(await acquire(store, clock)).toMatchObject({ granted: true })
    await store.close()
  })

  it('tells of a gap when a message of another version comes', async () => {
    const clock = new FakeClock()
    const store = directoryStore(new FakeFileSystem(clock).root, { file: 'foreign.json', clock })
    const channel = new BroadcastChannel('holdfast:foreign.json')
    for (const message of ['x', { changes: 5 }, { changes: [null] }, { changes: [], wakes: [] }]) {
      const { promise, resolve } = Promise.withResolvers<unknown>()
      await using _ = await store.watch(resolve)
      channel.postMessage(message)
      expect(await promise).toEqual({ type: 'gap' })
    }
    channel.close()
    await store.close()
  })
})

describe('bad arguments', () => {
  const FOREIGN = [null, 10n, Symbol('x'), 42, Object.create(null)] as never[]
  const { root } = new FakeFileSystem(new FakeClock())

  it.each([
    ['directory', [undefined, 'x', ...FOREIGN].map((given) => () => directoryStore(given as never))],
    ['options', FOREIGN.slice(0, 4).map((given) => () => directoryStore(root, given))],
    ['file', FOREIGN.map((file) => () => directoryStore(root, { file }))],
    ['clock', FOREIGN.map((clock) => () => directoryStore(root, { clock }))],
  ] as const)('bad arguments are refused at once: %s', (option, attempts) => {
    for (const open of attempts) {
      expect(open).toThrow(LeaseError)
      expect(open).toThrow(`${option}: expected`)
    }
  })
})
