import { LeaseError } from '../core/index.ts'
import { type ChromeApi, type ChromeStorageArea, globalApi } from './chrome-api.ts'
import { invalid } from './json.ts'
import { onPageReturn } from './page-return.ts'
import type { Items, StorageAdapter } from './storage.ts'

export type ChromeAreaName = 'local' | 'session' | 'sync'

/** `storage.sync.QUOTA_BYTES_PER_ITEM`: of the key and the JSON of its value. */
const SYNC_ITEM_BYTES = 8192

/**
 * A storage area of an extension. `session` is closed to content scripts unless `setAccessLevel` opens it; `sync`
 * takes 512 items of 8 kB, 100 kB in all and 120 writes a minute.
 *
 * @example
 * createSync({ storage: chromeStorage('local'), messenger: chromeMessenger(), locks: webLocks() })
 */
export function chromeStorage(name: ChromeAreaName = 'local', api: ChromeApi = globalApi()): StorageAdapter {
  const area = api.storage[name]
  if (!area) throw invalid('area', 'an area of this browser', name)
  return {
    get: (keys) => tried(() => area.get([...keys])),
    async set(items) {
      if (name === 'sync') expectItemsFit(items)
      await tried(() => area.set(items))
    },
    remove: (keys) => tried(() => area.remove([...keys])),
    keys: () => tried(() => keysOf(area)),
    subscribe(listener) {
      const onChanged = (changes: Parameters<typeof listener>[0], changed: string) => {
        if (changed === name) listener(changes)
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

async function keysOf(area: ChromeStorageArea): Promise<string[]> {
  return area.getKeys ? area.getKeys() : Object.keys(await area.get(null))
}

function expectItemsFit(items: Items): void {
  for (const [key, value] of Object.entries(items)) {
    const bytes = new TextEncoder().encode(key + JSON.stringify(value)).length
    if (bytes > SYNC_ITEM_BYTES)
      throw new LeaseError(
        'store-failed',
        `${key} takes ${bytes} bytes of ${SYNC_ITEM_BYTES} in storage.sync`,
      )
  }
}

/** Too many writes in a minute is over soon; a full storage, or an extension that was unloaded, is not. */
async function tried<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new LeaseError(
      /MAX_WRITE_OPERATIONS/.test(message) ? 'store-unavailable' : 'store-failed',
      message,
      {
        cause,
      },
    )
  }
}
