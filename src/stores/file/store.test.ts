import { describe, expect, it } from 'vitest'
import { LeaseError } from '../../base/errors.ts'
import { FakeClock } from '../../testing/index.ts'
import { nodeFiles } from './files.ts'
import { fileStore } from './index.ts'
import { LeaseDirectory } from './lease-directory.ts'
import { FileStore } from './store.ts'

const ask = { resource: 'r', id: 'a', owner: 'Mika', ttl: 1000 }

describe('a file store on a disk that does not answer', () => {
  function setUp() {
    const clock = new FakeClock()
    const files = { ...nodeFiles, list: () => new Promise<null>(() => {}) }
    return { clock, store: new FileStore(new LeaseDirectory('/nowhere', files, 'test'), clock) }
  }

  it('a file store on a disk that does not answer fails calls after a while, in a way that may be retried', async () => {
    const { clock, store } = setUp()
    const calls = [store.acquire(ask), store.renew(ask), store.release(ask), store.read(['r'])]
    const failures = calls.map((call) => call.catch((error: unknown) => error))
    await clock.advance(5100)
    for (const failure of await Promise.all(failures))
      expect(failure).toMatchObject({ code: 'store-unavailable', retryable: true })
  })

  it('a file store on a disk that does not answer fails all calls when it is closed', async () => {
    const { clock, store } = setUp()
    const calls = [store.acquire(ask), store.list({ limit: 1 }), store.sweep({ limit: 1 })]
    const failures = calls.map((call) => call.catch((error: unknown) => error))
    const closing = store.close()
    for (const failure of await Promise.all(failures)) expect(failure).toMatchObject({ code: 'closed' })
    await clock.advance(5000)
    await closing
    await expect(store.read(['r'])).rejects.toMatchObject({ code: 'closed' })
  })
})

describe('bad arguments', () => {
  const FOREIGN = [null, 10n, Symbol('x'), 42, Object.create(null)] as never[]

  it.each([
    ['directory', [undefined, '', ...FOREIGN].map((given) => () => fileStore(given as never))],
    ['options', FOREIGN.slice(0, 4).map((given) => () => fileStore('x', given))],
    ['clock', FOREIGN.map((clock) => () => fileStore('x', { clock }))],
  ] as const)('bad arguments are refused at once: %s', (option, attempts) => {
    for (const open of attempts) {
      expect(open).toThrow(LeaseError)
      expect(open).toThrow(`${option}: expected`)
    }
  })
})
