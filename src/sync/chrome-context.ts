import { globalApi } from './chrome-api.ts'
import { type ChromeMessengerOptions, chromeMessenger } from './chrome-messenger.ts'
import { type ChromeAreaName, chromeStorage } from './chrome-storage.ts'
import { webLocks } from './locks.ts'
import type { SyncOptions } from './sync.ts'

export interface ChromeContextOptions extends ChromeMessengerOptions {
  /** Default `local`. */
  readonly area?: ChromeAreaName
  /** Default: `location.href`. */
  readonly href?: string
}

/**
 * What `createSync` and `createCoordinator` need in this context of an extension: pages and the worker write under
 * a Web Lock of the extension's origin, content scripts through the worker.
 *
 * @example
 * const sync = createSync(chromeContext())
 */
export function chromeContext(
  options: ChromeContextOptions = {},
): Pick<SyncOptions, 'storage' | 'messenger' | 'locks' | 'writes'> {
  const { area, api = globalApi(), href = location.href } = options
  const ports = { storage: chromeStorage(area, api), messenger: chromeMessenger({ ...options, api }) }
  const ownOrigin = href.startsWith(api.runtime.getURL(''))
  return ownOrigin ? { ...ports, locks: webLocks() } : { ...ports, writes: 'coordinator' }
}
