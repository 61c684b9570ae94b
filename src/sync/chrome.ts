/** Browser extensions: `chrome.*` or `browser.*` as the storage and the messenger of a sync. */
import { expectObject, expectOptions, expectText, hasMethods, isObject, refuse } from '../base/arguments.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { locksWithin } from './locks.ts'
import type { Messenger } from './messenger.ts'
import type { ChromeContextOptions, ChromeMessengerOptions, SyncOptions } from './options.ts'
import { onPageReturn, type StorageAdapter, type StorageLimits } from './storage.ts'

/** The part of `chrome.*` and `browser.*` that is used. A fake fits as well. */
export interface ChromeApi {
  readonly storage: {
    readonly local: ChromeStorageArea
    readonly session?: ChromeStorageArea
    readonly sync?: ChromeStorageArea
    readonly onChanged: ChromeEvent<(changes: Readonly<Record<string, ChromeChange>>, area: string) => void>
  }
  readonly runtime: {
    getURL(path: string): string
    sendMessage(message: unknown): Promise<unknown>
    readonly onMessage: ChromeEvent<
      (message: unknown, sender: unknown, sendResponse: (answer: unknown) => void) => boolean | undefined
    >
  }
  /** Missing in content scripts. */
  readonly tabs?: {
    query(query: object): Promise<readonly { readonly id?: number | undefined }[]>
    sendMessage(tabId: number, message: unknown): Promise<unknown>
  }
}

export interface ChromeStorageArea {
  /** An object gives the values of missing keys. `null`: everything. */
  get(keys: string | string[] | Record<string, unknown> | null): Promise<Record<string, unknown>>
  set(items: Record<string, unknown>): Promise<void>
  remove(keys: string | string[]): Promise<void>
  /** Chrome 130 and later. */
  getKeys?(): Promise<string[]>
}

export interface ChromeChange {
  readonly oldValue?: unknown
  readonly newValue?: unknown
}

export interface ChromeEvent<L> {
  addListener(listener: L): void
  removeListener(listener: L): void
}

export type ChromeAreaName = 'local' | 'session' | 'sync'

/** `QUOTA_BYTES_PER_ITEM`, `QUOTA_BYTES` and `MAX_ITEMS`. */
const SYNC_LIMITS: StorageLimits = { of: 'storage.sync', itemBytes: 8192, bytes: 102_400, items: 512 }

/**
 * What `createSync` and `createCoordinator` need in this context of an extension. Pages and the worker write under
 * a Web Lock of the extension's origin; content scripts write through the worker.
 *
 * @example
 * const sync = createSync(chromeContext())
 */
export function chromeContext(
  options: ChromeContextOptions = {},
): Pick<SyncOptions, 'storage' | 'messenger' | 'locks' | 'writes'> {
  expectOptions(options, { area: 1, href: 1, tabs: 1, api: 1 })
  const { area, api = globalApi(), href = globalThis.location?.href } = options
  expectText('href', href)
  const ports = { storage: chromeStorage(area, api), messenger: messengerOver(api, options.tabs) }
  const isContentScript = !href.startsWith(api.runtime.getURL(''))
  return isContentScript ? { ...ports, writes: 'coordinator' } : { ...ports, locks: locksWithin() }
}

/**
 * A storage area of an extension. Content scripts can use `session` only after `setAccessLevel`. `sync` is limited
 * to 512 items of 8 kB, 100 kB in all, and 120 writes per minute.
 *
 * @example
 * createSync({ storage: chromeStorage('local'), messenger: chromeMessenger(), locks: webLocks() })
 */
export function chromeStorage(name: ChromeAreaName = 'local', api: ChromeApi = globalApi()): StorageAdapter {
  if (!isObject(api?.storage))
    refuse('api', '`chrome` or `browser` of an extension with the permission "storage"', api)
  const area = api.storage[name]
  if (!area) refuse('area', 'a storage area of this browser', name)
  return {
    ...(name === 'sync' && { shared: true, limits: SYNC_LIMITS, log: chromeStorage('local', api) }),
    get: (keys) => explained(() => area.get([...keys])),
    set: (items) => explained(() => area.set(items)),
    remove: (keys) => explained(() => area.remove([...keys])),
    keys: () => explained(async () => area.getKeys?.() ?? Object.keys(await area.get(null))),
    subscribe(listener) {
      const onChanged = (changes: Readonly<Record<string, ChromeChange>>, changedArea: string) => {
        if (changedArea === name) listener(changes)
      }
      api.storage.onChanged.addListener(onChanged)
      const stop = onPageReturn(() => listener(null))
      return () => {
        api.storage.onChanged.removeListener(onChanged)
        stop()
      }
    },
  }
}

/** Only too many writes in a minute can be retried. A full storage stays so. */
async function explained<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    const message = messageOf(cause)
    if (/context invalidated/i.test(message))
      throw new LeaseError('closed', 'the extension was reloaded or removed; reload the page', { cause })
    const code = /MAX_WRITE_OPERATIONS/.test(message) ? 'store-unavailable' : 'store-failed'
    throw new LeaseError(code, message, { cause })
  }
}

/**
 * `runtime.sendMessage`, which reaches pages and the worker, and `tabs.sendMessage`, which reaches content scripts.
 *
 * @example
 * createSync({ storage: chromeStorage(), messenger: chromeMessenger({ tabs: { url: 'https://example.com/*' } }) })
 */
export function chromeMessenger(options: ChromeMessengerOptions = {}): Messenger {
  expectOptions(options, { tabs: 1, api: 1 })
  const { api = globalApi(), tabs } = options
  return messengerOver(api, tabs)
}

function messengerOver(api: ChromeApi, tabs: object | false = {}): Messenger {
  if (tabs !== false) expectObject('tabs', tabs)
  if (!hasMethods(api?.runtime, 'sendMessage')) refuse('api', '`chrome` or `browser` of an extension', api)
  return {
    async send(message) {
      // In this tick, because the page may close.
      const sent = api.runtime.sendMessage(message)
      // Its failure is handled after the query.
      sent.catch(() => {})
      const contentScripts = tabs ? ((await api.tabs?.query(tabs).catch(() => [])) ?? []) : []
      return firstAnswer([
        sent,
        ...contentScripts.flatMap(({ id }) => (id === undefined ? [] : api.tabs?.sendMessage(id, message))),
      ])
    },
    subscribe(listener) {
      const onMessage = (message: unknown, _sender: unknown, sendResponse: (answer: unknown) => void) => {
        const answer = listener(message)
        if (answer === undefined) return undefined
        // The sender may have gone before the answer comes.
        Promise.resolve(answer)
          .then(sendResponse)
          .catch(() => {})
        // `true` keeps the channel open until `sendResponse` is called.
        return true
      }
      api.runtime.onMessage.addListener(onMessage)
      return () => api.runtime.onMessage.removeListener(onMessage)
    },
  }
}

/** `undefined` if nobody answers. A rejection means that there is no receiver. */
function firstAnswer(pending: readonly (Promise<unknown> | undefined)[]): Promise<unknown> {
  const answers = pending.map(async (answer) => (await answer) ?? Promise.reject())
  return Promise.any(answers).catch(() => undefined)
}

function globalApi(): ChromeApi {
  const { browser, chrome } = globalThis as { readonly browser?: ChromeApi; readonly chrome?: ChromeApi }
  const api = browser?.runtime ? browser : chrome
  if (!api) refuse('api', '`chrome` or `browser` of an extension', api)
  return api
}
