import { afterEach, describe, expect, it, vi } from 'vitest'
import { createCoordinator, createSync, memoryStorage, type SyncOptions } from './index.ts'

describe('options', () => {
  const storage = { ...memoryStorage(), subscribe: vi.fn() }
  // Whatever is refused, nothing has begun.
  afterEach(() => expect(storage.subscribe).not.toHaveBeenCalled())

  it.each<[string, object]>([
    ['storage', { storage: undefined }],
    ['storage', { storage: { subscribe() {} } }],
    ['messenger', { messenger: {} }],
    ['messenger', { messenger: null }],
    ['messenger', { messenger: { send: async () => {} } }],
    ['messenger', { writes: 'coordinator' }],
    ['locks', { locks: {} }],
    ['locks', { locks: 'web' }],
    ['writes', { writes: 'elsewhere' }],
    ['onWarning', { onWarning: 5 }],
    ['clock', { clock: {} }],
    ['option', { option: 'C' }],
    ['shards', { shards: 0 }],
    ['shards', { shards: 2, option: 'A' }],
    ['ackTimeout', { ackTimeout: 100 }],
    ['ackTimeout', { ackTimeout: 500 }],
    ['resend', { resend: -1 }],
    ['batch', { batch: 0.5 }],
    ['schema.version', { schema: { version: 0, migrations: {} } }],
    ['schema.migrations[2]', { schema: { version: 2, migrations: {} } }],
    ['schema.migrations[2]', { schema: { version: 2 } }],
    ['defaults.themeToken', { defaults: { themeToken: 'red' } }],
    ['defaults', { defaults: 'dark' }],
    ['defaults', { defaults: ['dark'] }],
  ])('name the bad one: %s', (name, options) => {
    expect(() => createSync({ storage, ...options } as SyncOptions)).toThrow(`${name}: expected `)
  })

  it.each([
    ['x'.repeat(100), `"${'x'.repeat(60)}"`],
    [{ ms: 200 }, 'an object'],
    [Object.create(null), 'an object'],
    [[200], 'a list'],
    [[Object.create(null)], 'a list'],
    [() => 200, 'a function'],
    [null, 'null'],
    [200n, '200'],
    [Symbol('200'), 'Symbol(200)'],
  ])('say what came, in words', (ackTimeout, words) => {
    expect(() => createSync({ storage, ackTimeout })).toThrow(
      `ackTimeout: expected a whole number from 150 to 300, got ${words}`,
    )
  })

  it('are those of the coordinator as well', () => {
    expect(() => createCoordinator({ storage, shards: 5000 })).toThrow('shards')
    expect(() => createCoordinator({ storage, locks: {} as never })).toThrow(
      'locks: expected an object with withLease, got an object',
    )
  })
})

it('a listener that is no function is refused', () => {
  const sync = createSync({ storage: memoryStorage() })
  expect(() => sync.subscribe('draw' as never)).toThrow('listener: expected a function, got "draw"')
})
