/** What is not ours may throw whenever it is called: it harms neither a write nor others, and ends no process. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import {
  broadcastMessenger,
  chromeMessenger,
  createCoordinator,
  createSync,
  memoryMessengers,
  memoryStorage,
  STORAGE_KEYS,
  type StorageListener,
  type SyncOptions,
} from './index.ts'

function fails(): never {
  throw new Error('out of order')
}

/** Lets everything that is under way come to its end, and the process notice what nobody caught. */
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
  ])('that %s has told nobody, and the write is a success', async (_, send) => {
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
  ])('on a channel gives no answer that %s', async (_, end) => {
    const [asking, answering] = [broadcastMessenger(), broadcastMessenger()]
    const asked = Promise.withResolvers<(value: unknown) => void>()
    answering.subscribe(() => new Promise(asked.resolve))
    const answered = vi.fn()
    asking.send('hello', new AbortController().signal).then(answered, answered)
    end(await asked.promise, answering.close)
    await settled()
    asking.close()
    answering.close()
    expect(answered).not.toHaveBeenCalled()
  })

  it('of an extension tells the pages also when its tabs cannot be found', async () => {
    const extension = fakeExtension()
    const [page] = await opened(extension, 'Page')
    const { api } = extension.browser.openPage()
    const tabs = { ...api.tabs, query: () => Promise.reject(new Error('no such pattern')) } as typeof api.tabs
    const messenger = chromeMessenger({ api: { ...api, ...(tabs && { tabs }) } })
    const sent = messenger.send({ action: 'entityDelta', delta: {} }, new AbortController().signal)
    expect(await extension.resolved(sent)).toEqual({ action: 'entityAck' })
    await extension.resolved(page.close())
  })

  it('of an extension bears with one who has gone before the answer', async () => {
    const { api } = fakeExtension().browser.openPage()
    const addListener = vi.spyOn(api.runtime.onMessage, 'addListener')
    chromeMessenger({ api }).subscribe(() => 'answer')
    expect(addListener.mock.lastCall?.[0]('question', {}, fails)).toBe(true)
  })
})

describe('a coordinator', () => {
  /** A storage that tells of changes as it likes. */
  function foreignStorage() {
    const listeners: StorageListener[] = []
    const subscribe = (listener: StorageListener) => {
      listeners.push(listener)
      return () => {}
    }
    const tell = (changes: unknown) => {
      for (const listener of listeners) listener(changes as Parameters<StorageListener>[0])
    }
    return { storage: { ...memoryStorage(), subscribe }, tell }
  }

  it.each([[null], [5], ['index'], [{ oldValue: { ids: 7 } }]])(
    'makes nothing of a change of the index to %j',
    async (change) => {
      const { storage, tell } = foreignStorage()
      const remove = vi.spyOn(storage, 'remove')
      createCoordinator({ storage })
      tell({ [STORAGE_KEYS.index]: change })
      await settled()
      expect(remove).not.toHaveBeenCalled()
    },
  )

  it('warns of a clean-up that its locks refuse', async () => {
    const { storage, tell } = foreignStorage()
    const onWarning = vi.fn()
    createCoordinator({ storage, locks: { withLease: fails }, onWarning })
    tell({ [STORAGE_KEYS.index]: { oldValue: { ids: ['a'] }, newValue: { ids: [] } } })
    await eventually(() => expect(onWarning).toHaveBeenCalled())
    expect(onWarning.mock.calls).toEqual([[expect.objectContaining({ code: 'remove-failed' })]])
  })

  it.each([
    ['nothing', undefined, 'undefined'],
    ['a text', 'full', 'full'],
    ['an error with a code of its own', new DOMException('full', 'QuotaExceededError'), 'full'],
  ])('answers a write that the storage refuses with %s', async (_, reason, message) => {
    const [storage, connect] = [memoryStorage(), memoryMessengers()]
    vi.spyOn(storage, 'set').mockRejectedValue(reason)
    await using _coordinator = createCoordinator({ storage, messenger: connect() })
    const request = { action: 'entityWrite', requestId: '1', operation: 'reset', args: [] }
    const answer = await connect().send(request, new AbortController().signal)
    expect(answer).toEqual({ error: { code: 'store-failed', message } })
  })
})

describe('a listener', () => {
  it('of a storage in memory that throws keeps nobody else from being told', async () => {
    const storage = memoryStorage()
    const heard = vi.fn()
    for (const listener of [fails, heard]) storage.subscribe(listener)
    await storage.set({ a: 1 })
    await settled()
    expect(heard).toHaveBeenCalledWith({ a: { newValue: 1 } })
  })

  it('of messages in memory that throws keeps nobody else from answering', async () => {
    const connect = memoryMessengers()
    for (const listener of [fails, () => 'here']) connect().subscribe(listener)
    expect(await connect().send('hello', new AbortController().signal)).toBe('here')
  })
})
