/** What the tests of the web stores do inside a page. */
import { systemClock } from '../../../src/core/index.ts'
import { directoryStore, webLockStore } from '../../../src/stores/web/index.ts'
import { describeStore } from '../../../src/testing/index.ts'
import { platformCases } from '../../web/platform-contract.ts'

export const scenarios = {
  async conformance(kind: 'locks' | 'directory') {
    const cases: { title: string; body: () => Promise<void> }[] = []
    const offset = { ms: 0 }
    const clock = { ...systemClock, now: () => Date.now() + offset.ms }
    const makers = {
      locks: (name: string) => () => webLockStore({ prefix: `${name}:`, clock }),
      directory: (name: string) => () => directoryStore(opfs, { file: `${name}.json`, clock }),
    }
    describeStore(kind, {
      runner: {
        describe: (_name, body) => body(),
        it: (title, body) => cases.push({ title, body }),
      },
      ...(kind === 'locks' && { supports: { expiry: false } }),
      contention: 60,
      create: async () => {
        const open = makers[kind](crypto.randomUUID())
        const [store, peer] = [open(), open()]
        const dispose = async () => {
          offset.ms = 0
          await Promise.all([store.close(), peer.close()])
        }
        return { store, peer, open, dispose }
      },
      reopen: async ({ open }) => open(),
      stepClock: (_, ms) => {
        offset.ms += ms
      },
    })
    const results: { title: string; error?: string }[] = []
    // One by one, since they share a clock that some of them set.
    for (const { title, body } of cases)
      results.push(
        await body().then(
          () => ({ title }),
          (error: unknown) => ({ title, error: String(error) }),
        ),
      )
    return results
  },

  async platform() {
    const results: { title: string; observed: unknown; expected: unknown }[] = []
    for (const { title, observe, expected } of platformCases) {
      const directory = await (await opfs()).getDirectoryHandle(crypto.randomUUID(), { create: true })
      results.push({ title, observed: await observe({ locks: navigator.locks, directory }), expected })
    }
    return results
  },
}

const opfs = () => navigator.storage.getDirectory()

Object.assign(globalThis, { scenarios })
