import { invalid } from './json.ts'

/** What is used of `chrome.*` and `browser.*`, so that either will do, and a fake as well. */
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
  /** Content scripts have none. */
  readonly tabs?: {
    query(query: object): Promise<readonly { readonly id?: number | undefined }[]>
    sendMessage(tabId: number, message: unknown): Promise<unknown>
  }
}

export interface ChromeStorageArea {
  get(keys: string[] | null): Promise<Record<string, unknown>>
  set(items: Record<string, unknown>): Promise<void>
  remove(keys: string[]): Promise<void>
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

export function globalApi(): ChromeApi {
  const { browser, chrome } = globalThis as { readonly browser?: ChromeApi; readonly chrome?: ChromeApi }
  const api = browser?.runtime ? browser : chrome
  if (!api) throw invalid('api', 'browser.* or chrome.*; this is no context of an extension', api)
  return api
}
