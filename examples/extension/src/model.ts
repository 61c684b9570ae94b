/// <reference types="chrome" />
/** What all contexts of the extension share. In your own project, import from `holdfast/sync`. */
import { chromeContext, createSync, type Sync, type SyncSettings } from '../../../src/sync/index.ts'

export interface Item {
  readonly label: string
  readonly checked: boolean
  readonly timestamp: number
}

export const ACTIONS = { openOptions: 'openOptions' } as const

export function openSync(): Sync<Item> {
  return createSync<Item>({
    ...chromeContext(),
    onWarning: ({ code, message }) => console.info(`${code}: ${message}`),
  })
}

export function addItem(sync: Sync<Item>, label: string): Promise<void> {
  // On pages without https there is no crypto.randomUUID.
  const id = crypto.getRandomValues(new Uint32Array(4)).join('-')
  return sync.setEntity(id, { label, checked: false, timestamp: Date.now() })
}

export function tick(sync: Sync<Item>, id: string, checked: boolean): Promise<void> {
  return sync.patchEntity(id, { checked, timestamp: Date.now() })
}

/** Whether the checklist is shown on a page of this host. */
export function inScope({ featureEnabled, scopeMode, scopeTargetId }: SyncSettings, host: string): boolean {
  return featureEnabled && (scopeMode === 'all' || scopeTargetId === host)
}
