import { afterEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../core/index.ts'
import { FakeClock, fakeBrowser } from '../testing/index.ts'
import {
  broadcastMessenger,
  chromeContext,
  chromeMessenger,
  chromeStorage,
  createCoordinator,
  createSync,
  indexedDbStorage,
  memoryMessengers,
  memoryStorage,
  type SyncOptions,
  webLocks,
} from './index.ts'

/** The message of the `invalid-argument` that the call throws or rejects with. */
async function refusal(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(LeaseError)
    expect(error).toHaveProperty('code', 'invalid-argument')
    return (error as LeaseError).message
  }
  throw new Error('the call was accepted')
}

describe('createSync and createCoordinator', () => {
  const storage = { ...memoryStorage(), subscribe: vi.fn() }
  // A refused call must not have started anything.
  afterEach(() => expect(storage.subscribe).not.toHaveBeenCalled())

  it.each<[string, object]>([
    ['storage', { storage: undefined }],
    ['storage', { storage: null }],
    ['storage', { storage: {} }],
    ['storage', { storage: 10n }],
    ['storage', { storage: Object.create(null) }],
    ['storage', { storage: { subscribe() {} } }],
    ['messenger', { messenger: {} }],
    ['messenger', { messenger: null }],
    ['messenger', { messenger: { send: async () => {} } }],
    ['messenger', { writes: 'coordinator' }],
    ['locks', { locks: {} }],
    ['locks', { locks: 'web' }],
    ['writes', { writes: 'elsewhere' }],
    ['writes', { writes: Symbol('here') }],
    ['onWarning', { onWarning: 5 }],
    ['clock', { clock: {} }],
    ['layout', { layout: 'C' }],
    ['layout', { layout: 10n }],
    ['shards', { shards: 0 }],
    ['shards', { shards: 2, layout: 'one-key' }],
    ['shards', { shards: 2n }],
    ['ackTimeout', { ackTimeout: 100 }],
    ['ackTimeout', { ackTimeout: 500 }],
    ['ackTimeout', { ackTimeout: '1s' }],
    ['ackTimeout', { ackTimeout: '1 week' }],
    ['resend', { resend: -1 }],
    ['namespace', { namespace: 'a\0b' }],
    ['namespace', { namespace: 'a/b' }],
    ['batch', { batch: 0.5 }],
    ['schema', { schema: null }],
    ['schema', { schema: 2 }],
    ['schema.version', { schema: {} }],
    ['schema.version', { schema: { version: 0, migrations: {} } }],
    ['schema.migrations[2]', { schema: { version: 2, migrations: {} } }],
    ['schema.migrations[2]', { schema: { version: 2, migrations: null } }],
    ['schema.migrations[2]', { schema: { version: 2 } }],
    ['defaults', { defaults: 'dark' }],
    ['defaults', { defaults: ['dark'] }],
    ['defaults', { defaults: { size: 10n } }],
  ])('name the refused option: %s', async (name, options) => {
    const call = () => createSync({ storage, ...options } as SyncOptions)
    expect(await refusal(call)).toMatch(
      new RegExp(`^${name.replaceAll(/[.[\]]/g, '\\$&')}(\\.\\w+)?: expected `),
    )
  })

  it.each<[unknown, string]>([
    [10n, '10n'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Symbol('options'), 'Symbol(options)'],
    [[], 'an array'],
    ['options', 'a string'],
  ])('refuse %s in place of the options', async (options, shown) => {
    for (const create of [createSync, createCoordinator])
      expect(await refusal(() => create(options as SyncOptions))).toBe(
        `options: expected an object, got ${shown}`,
      )
  })

  it.each([
    ['1 week', '"1 week"'],
    ['x'.repeat(100), `"${'x'.repeat(60)}…"`],
    [{ ms: 200 }, 'an object'],
    [Object.create(null), 'an object'],
    [[200], 'an array'],
    [[Object.create(null)], 'an array'],
    [() => 200, 'a function'],
    [null, 'null'],
    [200n, '200n'],
    [Symbol('200'), 'Symbol(200)'],
  ])('show the expected and the received value', async (ackTimeout, shown) => {
    expect(await refusal(() => createSync({ storage, ackTimeout: ackTimeout as never }))).toBe(
      `ackTimeout: expected whole milliseconds from 150 to 300, or text such as '30s', got ${shown}`,
    )
  })

  it('name `layout` to callers of its old name `option`', async () => {
    for (const create of [createSync, createCoordinator])
      expect(await refusal(() => create({ storage, option: 'A' } as SyncOptions))).toBe(
        '`option`: unknown option, did you mean `layout`?',
      )
  })

  it('check the same options', async () => {
    expect(await refusal(() => createCoordinator({ storage, shards: 5000 }))).toContain('shards')
    expect(await refusal(() => createCoordinator({ storage, locks: {} as never }))).toBe(
      'locks: expected locks such as webLocks() (with withLease), got an object',
    )
  })
})

describe('ackTimeout', () => {
  it.each([200, '200ms', '0.2s'] as const)('ackTimeout may be %j', async (ackTimeout) => {
    const clock = new FakeClock()
    const onWarning = vi.fn()
    const messenger = { send: () => new Promise(() => {}), subscribe: () => () => {} }
    const options = { storage: memoryStorage(), messenger, resend: 0, clock, onWarning }
    await createSync({ ...options, ackTimeout }).setEntity('a', {})
    await clock.advance(199)
    expect(onWarning).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(onWarning).toHaveBeenCalledWith(expect.objectContaining({ code: 'no-ack' }))
  })
})

describe('the methods of a sync', () => {
  const sync = createSync({ storage: memoryStorage() })
  const symbol = Symbol('id') as never

  it.each<[string, () => unknown]>([
    [
      'entity id: expected a non-empty string of valid Unicode without U+0000, got Symbol(id)',
      () => sync.setEntity(symbol, {}),
    ],
    [
      'entity id: expected a non-empty string of valid Unicode without U+0000, got Symbol(id)',
      () => sync.patchEntity(symbol, {}),
    ],
    [
      'entity id: expected a non-empty string of valid Unicode without U+0000, got Symbol(id)',
      () => sync.removeEntity(symbol),
    ],
    [
      'entity id: expected a non-empty string of valid Unicode without U+0000, got 10n',
      () => sync.removeEntity('a', 10n as never),
    ],
    ['entity a: expected a JSON object, got 10n', () => sync.setEntity('a', 10n as never)],
    ['fields of a: expected a JSON object, got null', () => sync.patchEntity('a', null as never)],
    ['settings: expected a JSON object, got Symbol(id)', () => sync.updateSettings(symbol)],
    ['entities: expected pairs of id and entity, got null', () => sync.setEntities(null as never)],
    ['entities: expected pairs of id and entity, got an object', () => sync.setEntities({} as never)],
    ['entities: expected pairs of id and entity, got 5', () => sync.setEntities([5] as never)],
    ['entities: expected pairs of id and entity, got null', () => sync.setEntities([null] as never)],
    ['listener: expected a function, got "draw"', () => sync.subscribe('draw' as never)],
    ['id: expected a string, got Symbol(id)', () => sync.subscribe(() => {}, symbol)],
  ])('refuse bad arguments: %s', async (message, call) => {
    expect(await refusal(call)).toBe(message)
    expect(sync.state.entries).toEqual([])
  })
})

describe('the adapters', () => {
  const { api, locks } = fakeBrowser({ clock: new FakeClock() }).openPage()

  it.each<[string, () => unknown]>([
    ['options: expected an object, got null', () => chromeContext(null as never)],
    ['href: expected a non-empty string, got 5', () => chromeContext({ api, href: 5 as never })],
    ['href: expected a non-empty string, got undefined', () => chromeContext({ api })],
    ['options: expected an object, got 10n', () => chromeMessenger(10n as never)],
    ['tabs: expected an object, got 5', () => chromeMessenger({ api, tabs: 5 as never })],
    [
      'api: expected `chrome` or `browser` of an extension, got null',
      () => chromeMessenger({ api: null as never }),
    ],
    [
      'api: expected `chrome` or `browser` of an extension, got an object',
      () => chromeMessenger({ api: {} as never }),
    ],
    ['got an object', () => chromeStorage('local', {} as never)],
    ['got null', () => chromeStorage('local', null as never)],
    [
      'area: expected a storage area of this browser, got Symbol(a)',
      () => chromeStorage(Symbol('a') as never, api),
    ],
    ['name: expected a non-empty string, got Symbol(a)', () => broadcastMessenger(Symbol('a') as never)],
    ['name: expected a non-empty string, got 10n', () => indexedDbStorage(10n as never)],
    ['items: expected an object, got null', () => memoryStorage(null as never)],
    ['items: expected values that can be cloned, got an object', () => memoryStorage({ run() {} })],
    ['items: expected values that can be cloned', () => memoryStorage().set({ run() {} })],
    ['listener: expected a function, got null', () => memoryStorage().subscribe(null as never)],
    ['listener: expected a function, got null', () => memoryMessengers()().subscribe(null as never)],
    ['options: expected an object, got null', () => webLocks(null as never)],
    ['locks: expected Web Locks', () => webLocks({ locks: {} as never })],
    ['clock: expected a Clock', () => webLocks({ locks, clock: 5 as never })],
    [
      "wait: expected whole milliseconds from 0 to 2147483647, or text such as '30s', got -1",
      () => webLocks({ locks, wait: -1 }),
    ],
    ['wait: expected', () => webLocks({ locks, wait: 'soon' as never })],
  ])('refuse bad arguments: %s', async (message, call) => {
    expect(await refusal(call)).toContain(message)
  })

  it.each([
    [5000, 5000],
    ['5s', 5000],
    ['0.1m', 6000],
  ] as const)('wait for a lock for %j', async (wait, ms) => {
    const clock = new FakeClock()
    const { locks } = fakeBrowser({ clock, latency: [0, 0] }).openPage()
    void locks.request('busy', () => new Promise(() => {}))
    await clock.advance(1)
    const failed = vi.fn()
    webLocks({ locks, wait, clock })
      .withLease('busy', async () => {})
      .catch(failed)
    await clock.advance(ms - 1)
    expect(failed).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: 'lease-held' }))
  })

  it('wait for a lock without a limit with Infinity', async () => {
    const clock = new FakeClock()
    const { locks } = fakeBrowser({ clock, latency: [0, 0] }).openPage()
    const held = Promise.withResolvers<void>()
    void locks.request('busy', () => held.promise)
    await clock.advance(1)
    const work = vi.fn(async () => {})
    const done = webLocks({ locks, wait: Infinity, clock }).withLease('busy', work)
    await clock.advance(86_400_000)
    expect(work).not.toHaveBeenCalled()
    held.resolve()
    await clock.advance(1)
    await done
    expect(work).toHaveBeenCalled()
  })
})
