/// <reference types="chrome" />
/** What all contexts of the extension share. In your own project, import from `holdfast/sync`. */
import * as v from 'valibot'
import {
  chromeContext,
  createSync,
  DEFAULT_SETTINGS,
  type Sync,
  type SyncSettings,
} from '../../../src/sync/index.ts'

const itemSchema = v.object({ label: v.string(), checked: v.boolean(), timestamp: v.number() })
export type Item = Readonly<v.InferOutput<typeof itemSchema>>

export const ACTIONS = { openOptions: 'openOptions' } as const
export const LABEL_LENGTH = 200

/** The same in every context, also in the worker. */
export function syncContext() {
  return { ...chromeContext(), defaults: { ...DEFAULT_SETTINGS, themeToken: '#0f8b8d' } }
}

export function openSync(): Sync<Item> {
  return createSync<Item>({
    ...syncContext(),
    validate: { entity: itemSchema },
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

/** The host in what a user types: `example.com`, or the address of one of its pages. */
export function hostOf(text: string): string {
  const address = text.trim()
  try {
    const { hostname } = new URL(address.includes('://') ? address : `https://${address}`)
    return /^[\w.-]+$|^\[[\da-f:.]+\]$/.test(hostname) ? hostname : ''
  } catch {
    return ''
  }
}

/** Whether the checklist is shown on a page of this host. */
export function inScope({ featureEnabled, scopeMode, scopeTargetId }: SyncSettings, host: string): boolean {
  return featureEnabled && (scopeMode === 'all' || scopeTargetId === host)
}
