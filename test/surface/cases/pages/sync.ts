import assert from 'node:assert/strict'
import { systemClock } from 'holdfast'
import {
  broadcastMessenger,
  createCoordinator,
  createSync,
  DEFAULT_SETTINGS,
  exportCollection,
  importCollection,
  indexedDbStorage,
  memoryMessengers,
  memoryStorage,
  STORAGE_KEYS,
  type StandardSchema,
  type Sync,
  type SyncSettings,
  settingsProblems,
  webLocks,
} from 'holdfast/sync'
import { unique } from '../backend.ts'
import { answers, messengerCase, storageCase } from './sync-ports.ts'

export interface Item {
  readonly label: string
  readonly checked: boolean
}

const MILK: Item = { label: 'Milk', checked: false }

/** The sync of a web application, as docs/sync.md uses it. */
export async function syncCase(): Promise<void> {
  await usesStorages()
  await usesMessengers()
  await writes()
  await writesThroughCoordinator()
  await exportsAndImports()
  assert.equal(await webLocks().withLease(unique, async () => 'written'), 'written')
  assert.deepEqual(Object.keys(settingsProblems({ ...DEFAULT_SETTINGS, themeToken: 'mauve' })), [
    'themeToken',
  ])
}

async function usesStorages(): Promise<void> {
  await storageCase(memoryStorage())
  const items = { [STORAGE_KEYS.index]: { ids: [] } }
  assert.deepEqual(await memoryStorage(items).keys(), [STORAGE_KEYS.index])
  for (const storage of [indexedDbStorage(), indexedDbStorage(`${unique}-ports`)]) {
    await storageCase(storage)
    await storage.close()
  }
}

async function usesMessengers(): Promise<void> {
  const connect = memoryMessengers()
  const stop = answers(connect())
  await messengerCase(connect())
  stop()
  for (const name of [undefined, `${unique}-messages`]) {
    const open = () => (name ? broadcastMessenger(name) : broadcastMessenger())
    await using other = open()
    const stopOther = answers(other)
    const messenger = open()
    await messengerCase(messenger)
    messenger.close()
    stopOther()
  }
}

async function writes(): Promise<void> {
  await using storage = indexedDbStorage(`${unique}-app`)
  await using messenger = broadcastMessenger(`${unique}-app`)
  await using sync = createSync<Item>({ storage, messenger, locks: webLocks(), onWarning: () => {} })
  const changes: string[] = []
  const stop = sync.subscribe(({ type }) => changes.push(type))
  const stopOne = sync.subscribe(() => changes.push('milk'), 'milk')
  await sync.bootstrap()
  await sync.setEntity('milk', MILK)
  await sync.setEntities([
    ['bread', { label: 'Bread', checked: false }],
    ['salt', { label: 'Salt', checked: false }],
  ])
  await sync.patchEntity('milk', { checked: true })
  await sync.updateEntity('milk', (item) => ({ ...MILK, ...item, label: 'Oat milk' }))
  assert.deepEqual(sync.get('milk'), { label: 'Oat milk', checked: true })
  await sync.removeEntity('bread')
  await sync.removeEntity()
  assert.equal(sync.state.entries.length, 2)
  await sync.updateSettings({ themeToken: '#123456' })
  assert.equal(sync.settings.themeToken, '#123456')
  assert.deepEqual(await sync.cleanupOrphans(), [])
  await sync.rebuildIndex()
  assert.equal(sync.state.entries.length, 2)
  assert.equal(sync.waiting, 0)
  await sync.reset()
  assert.equal(sync.state.entries.length, 0)
  stop()
  stopOne()
  for (const type of ['status', 'entity', 'milk', 'removed', 'settings', 'cleared'])
    assert(changes.includes(type), type)
  await sync.close()
}

async function writesThroughCoordinator(): Promise<void> {
  const connect = memoryMessengers()
  const shared = {
    storage: memoryStorage(),
    locks: webLocks({ locks: navigator.locks, wait: '5s', clock: systemClock }),
    ...{ namespace: 'tasks', layout: 'key-per-entity', shards: 2, ackTimeout: '200ms', resend: 2 },
    schema: { version: 2, migrations: { 2: ({ settings, entities }) => ({ settings, entities }) } },
    defaults: { ...DEFAULT_SETTINGS, themeToken: '#654321' },
    onWarning: () => {},
    clock: systemClock,
  } satisfies Omit<Parameters<typeof createCoordinator>[0], 'messenger'>
  await using coordinator = createCoordinator({ ...shared, messenger: connect() })
  await using sync = createSync<Item>({
    ...{ ...shared, messenger: connect(), writes: 'coordinator', batch: 10 },
    validate: { entity: accepting<Item>(), settings: accepting<SyncSettings>() },
  })
  await sync.setEntity('milk', MILK)
  assert.deepEqual(await coordinator.cleanupOrphans(), [])
  assert.equal(sync.settings.themeToken, '#654321')
  await coordinator.close()
}

async function exportsAndImports(): Promise<void> {
  const open = (): Sync<Item> => createSync<Item>({ storage: memoryStorage() })
  await using from = open()
  await from.setEntity('milk', MILK)
  const collection = await exportCollection(from)
  await using to = open()
  await to.setEntity('bread', { label: 'Bread', checked: true })
  await importCollection(to, collection)
  assert.equal(to.state.entries.length, 2)
  await importCollection(to, collection, { replace: true })
  assert.deepEqual(to.state.entries, [['milk', MILK]])
}

function accepting<T>(): StandardSchema<T> {
  return {
    '~standard': { version: 1, vendor: 'surface', validate: (value) => ({ value: value as T }) },
  }
}
