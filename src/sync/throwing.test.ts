/** Code of the user may throw at any call. It must not break a write or other listeners, or end the process. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { LeaseError } from '../core/index.ts'
import {
  broadcastMessenger,
  chromeMessenger,
  createCoordinator,
  createSync,
  indexedDbStorage,
  memoryMessengers,
  memoryStorage,
  STORAGE_KEYS,
  type StorageListener,
  type SyncOptions,
} from './index.ts'

function fails(): never {
  throw new Error('out of order')
}

/** Lets pending promises settle, so that the process reports unhandled rejections. */
const settled = () => new Promise(setImmediate)
const uncaught = vi.fn()
beforeEach(() => {
  uncaught.mockClear()
  process.on('unhandledRejection', uncaught).on('uncaughtException', uncaught)
})
afterEach(async () => {
  await settled()
  process.off('unhandledRejection', uncaught).off('uncaughtException', uncaught)
  expect(uncaught).not.toHaveBeenCalled()
})

describe('a messenger', () => {
  it.each<[string, () => unknown]>([
    ['throws', fails],
    ['rejects', () => Promise.reject(new Error('gone'))],
    ['returns nothing', () => undefined],
  ])('a messenger that %s reaches nobody, and the write succeeds', async (_, send) => {
    const onWarning = vi.fn()
    const messenger = { send, subscribe: () => () => {} } as SyncOptions['messenger'] & object
    const sync = createSync<Item>({ storage: memoryStorage(), messenger, onWarning })
    await sync.setEntity('a', { n: 1 })
    await eventually(() => expect(onWarning).toHaveBeenCalled())
    expect(onWarning.mock.calls).toEqual([[expect.objectContaining({ code: 'no-receiver' })]])
  })

  it.each<[string, (answer: (value: unknown) => void, close: () => void) => void]>([
    ['comes after the channel was closed', (answer, close) => [close(), answer('late')]],
    ['cannot be cloned', (answer) => answer(() => {})],
    ['is a rejection', (answer) => answer(Promise.reject(new Error('no')))],
  ])('a messenger on a BroadcastChannel gives no answer if it %s', async (_, end) => {
    const [sender, receiver] = [broadcastMessenger(), broadcastMessenger()]
    const received = Promise.withResolvers<(value: unknown) => void>()
    receiver.subscribe(() => new Promise(received.resolve))
    const answered = vi.fn()
    sender.send('hello', new AbortController().signal).then(answered, answered)
    end(await received.promise, receiver.close)
    await settled()
    sender.close()
    receiver.close()
    expect(answered).not.toHaveBeenCalled()
  })

  it('a messenger on a BroadcastChannel is closed by `await using`', async () => {
    const received = vi.fn()
    {
      await using receiver = broadcastMessenger()
      receiver.subscribe(received)
    }
    await using sender = broadcastMessenger()
    void sender.send('hello', AbortSignal.abort())
    await settled()
    expect(received).not.toHaveBeenCalled()
  })

  it('a messenger of an extension reaches the pages also if tabs.query fails', async () => {
    const extension = fakeExtension()
    const [page] = await opened(extension, 'Page')
    const { api } = extension.browser.openPage()
    const tabs = { ...api.tabs, query: () => Promise.reject(new Error('no such pattern')) } as typeof api.tabs
    const messenger = chromeMessenger({ api: { ...api, ...(tabs && { tabs }) } })
    const sent = messenger.send({ action: 'entityDelta', delta: {} }, new AbortController().signal)
    expect(await extension.resolved(sent)).toEqual({ action: 'entityAck' })
    await extension.resolved(page.close())
  })

  it('a messenger of an extension ignores that the sender has gone before the answer', async () => {
    const { api } = fakeExtension().browser.openPage()
    const addListener = vi.spyOn(api.runtime.onMessage, 'addListener')
    chromeMessenger({ api }).subscribe(() => 'answer')
    expect(addListener.mock.lastCall?.[0]('message', {}, fails)).toBe(true)
  })
})

describe('a coordinator', () => {
  /** A storage that reports any change that the test wants. */
  function foreignStorage() {
    const listeners: StorageListener[] = []
    const subscribe = (listener: StorageListener) => {
      listeners.push(listener)
      return () => {}
    }
    const report = (changes: unknown) => {
      for (const listener of listeners) listener(changes as Parameters<StorageListener>[0])
    }
    return { storage: { ...memoryStorage(), subscribe }, report }
  }

  it.each([[null], [5], ['index'], [{ oldValue: { ids: 7 } }]])(
    'ignores a change of the index to %j',
    async (change) => {
      const { storage, report } = foreignStorage()
      const remove = vi.spyOn(storage, 'remove')
      createCoordinator({ storage })
      report({ [STORAGE_KEYS.index]: change })
      await settled()
      expect(remove).not.toHaveBeenCalled()
    },
  )

  it('a coordinator warns if the locks refuse a clean-up', async () => {
    const { storage, report } = foreignStorage()
    const onWarning = vi.fn()
    createCoordinator({ storage, locks: { withLease: fails }, onWarning })
    report({ [STORAGE_KEYS.index]: { oldValue: { ids: ['a'] }, newValue: { ids: [] } } })
    await eventually(() => expect(onWarning).toHaveBeenCalled())
    expect(onWarning.mock.calls).toEqual([[expect.objectContaining({ code: 'remove-failed' })]])
  })
})

describe('a listener', () => {
  it('a listener of memoryStorage that throws does not affect the other listeners', async () => {
    const storage = memoryStorage()
    const received = vi.fn()
    for (const listener of [fails, received]) storage.subscribe(listener)
    await storage.set({ a: 1 })
    await settled()
    expect(received).toHaveBeenCalledWith({ a: { newValue: 1 } })
  })

  it('a listener of memoryMessengers that throws does not affect the answer of another', async () => {
    const connect = memoryMessengers()
    for (const listener of [fails, () => 'here']) connect().subscribe(listener)
    expect(await connect().send('hello', new AbortController().signal)).toBe('here')
  })
})

describe('an async listener', () => {
  const rejects = async () => fails()

  it('an async listener that rejects does not end the process', async () => {
    const storage = memoryStorage({ [STORAGE_KEYS.settings]: 'malformed' })
    storage.subscribe(rejects)
    const sync = createSync<Item>({ storage, onWarning: rejects })
    const received = vi.fn()
    for (const listener of [rejects, received]) sync.subscribe(listener)
    await sync.setEntity('a', { n: 1 })
    expect(received.mock.calls.map(([{ type }]) => type)).toEqual(['entity', 'status'])
  })
})

describe('the errors of a sync and a coordinator', () => {
  it.each(['get', 'set', 'remove', 'keys'] as const)(
    'are LeaseErrors if storage.%s throws something else',
    async (method) => {
      const storage = memoryStorage({ [STORAGE_KEYS.index]: { ids: [] }, 'trackedEntity:orphan': {} })
      await using coordinator = createCoordinator({ storage, onWarning: () => {} })
      const sync = createSync<Item>({ storage, onWarning: () => {} })
      if (method !== 'get') await sync.bootstrap()
      vi.spyOn(storage, method).mockImplementation(fails)
      const results = await Promise.allSettled([
        sync.bootstrap(),
        sync.setEntity('a', { n: 1 }),
        sync.removeEntity('a'),
        sync.reset(),
        sync.updateSettings({}),
        sync.cleanupOrphans(),
        coordinator.cleanupOrphans(),
      ])
      const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
      expect(errors.length).toBeGreaterThan(0)
      for (const error of errors) {
        expect(error).toBeInstanceOf(LeaseError)
        expect(error).toMatchObject({ code: 'store-failed', message: 'out of order' })
        expect(error.cause).toEqual(new Error('out of order'))
      }
    },
  )

  it('the errors of a sync and a coordinator are LeaseErrors in a context without IndexedDB', async () => {
    await using storage = indexedDbStorage()
    const failure = await storage.keys().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(LeaseError)
    expect(failure).toMatchObject({ code: 'store-failed', message: 'indexedDB is not defined' })
  })

  it('the errors of a sync and a coordinator are LeaseErrors if the locks throw something else', async () => {
    const sync = createSync<Item>({ storage: memoryStorage(), locks: { withLease: fails } })
    const failure = await sync.setEntity('a', { n: 1 }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(LeaseError)
    expect(failure).toMatchObject({ code: 'store-failed', message: 'out of order' })
  })
})

describe('the end', () => {
  it.each(['sync', 'coordinator'] as const)(
    'the end of a %s comes although its ports do not let it unsubscribe',
    async (kind) => {
      const storage = { ...memoryStorage(), subscribe: () => fails }
      const messenger = { ...memoryMessengers()(), subscribe: () => fails }
      const ended =
        kind === 'sync' ? createSync<Item>({ storage, messenger }) : createCoordinator({ storage, messenger })
      await ended.close()
      if ('status' in ended) expect(ended.status).toBe('closed')
    },
  )

  it('the end of a connection to IndexedDB, which the browser decides, fails no call', async () => {
    const connections: { closed: boolean; onclose?(): void }[] = []
    vi.stubGlobal('indexedDB', { open: () => openedRequest(connections) })
    try {
      await using storage = indexedDbStorage()
      expect(await storage.keys()).toEqual([])
      for (const connection of connections) {
        connection.closed = true
        connection.onclose?.()
      }
      expect(await storage.keys()).toEqual([])
    } finally {
      vi.unstubAllGlobals()
    }
  })
})

/** A request that opens an empty database. After its end, a connection refuses transactions. */
function openedRequest(connections: { closed: boolean }[]) {
  const connection = {
    closed: false,
    close() {},
    transaction() {
      if (connection.closed) throw new DOMException('the connection is closed', 'InvalidStateError')
      const transaction = { objectStore: () => ({ getAllKeys: () => ({ result: [] }) }), oncomplete() {} }
      queueMicrotask(() => transaction.oncomplete())
      return transaction
    },
  }
  connections.push(connection)
  const request = { result: connection, onsuccess() {} }
  queueMicrotask(() => request.onsuccess())
  return request
}
