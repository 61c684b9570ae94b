/** The cases of a page of an extension, whose worker answers messages and coordinates a sync. */
import assert from 'node:assert/strict'
import { type ChromeApi, chromeContext, chromeMessenger, chromeStorage, createSync } from 'holdfast/sync'
import { unique } from '../backend.ts'
import { runEach } from '../run-each.ts'
import type { Item } from './sync.ts'
import { messengerCase, storageCase } from './sync-ports.ts'

const { chrome: api } = globalThis as unknown as { chrome: ChromeApi }

const cases = {
  async storage() {
    await storageCase(chromeStorage())
    await storageCase(chromeStorage('session'))
    await storageCase(chromeStorage('sync', api))
  },
  async messenger() {
    await messengerCase(chromeMessenger())
    await messengerCase(chromeMessenger({ tabs: false, api }))
  },
  async context() {
    const { href } = location
    for (const context of [chromeContext(), chromeContext({ api, area: 'session', href, tabs: false })]) {
      assert.equal(await context.locks?.withLease(unique, async () => 'written'), 'written')
      await using sync = createSync<Item>({ ...context, onWarning: () => {} })
      await sync.setEntity('milk', { label: 'Milk', checked: false })
      await using other = createSync<Item>({ ...context, onWarning: () => {} })
      await other.bootstrap()
      assert.equal(other.get('milk')?.label, 'Milk')
    }
  },
}

const result = runEach({ cases, async [Symbol.asyncDispose]() {} })
Object.assign(globalThis, { result })
