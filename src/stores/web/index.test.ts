import { afterEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../../base/errors.ts'
import { webLockStore, webStore } from './index.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('a page that was not loaded over HTTPS', () => {
  it('a page that was not loaded over HTTPS is told so by the first call', async () => {
    vi.stubGlobal('navigator', {})
    const store = webStore()
    await expect(store.read(['a'])).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('load it over HTTPS'),
    })
    await store.close()
    expect(() => webLockStore()).toThrow('locks: expected Web Locks, which need HTTPS or localhost')
  })
})

describe('bad arguments', () => {
  const FOREIGN = [null, 10n, Symbol('x'), 42, Object.create(null)] as never[]

  it.each([
    ['options', FOREIGN.slice(0, 4).flatMap((given) => [() => webStore(given), () => webLockStore(given)])],
    ['locks', FOREIGN.map((locks) => () => webLockStore({ locks }))],
    ['prefix', ['' as never, ...FOREIGN].map((prefix) => () => webLockStore({ prefix, locks: LOCKS }))],
    ['clock', FOREIGN.map((clock) => () => webLockStore({ clock, locks: LOCKS }))],
    ['directory', FOREIGN.map((directory) => () => webStore({ directory, locks: null as never }))],
  ] as const)('bad arguments are refused at once: %s', (option, attempts) => {
    for (const open of attempts) {
      expect(open).toThrow(LeaseError)
      expect(open).toThrow(`${option}: expected`)
    }
  })
})

const LOCKS = { request: async () => {}, query: async () => ({}) }
