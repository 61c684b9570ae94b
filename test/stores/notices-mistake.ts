import { expect, it } from 'vitest'
import {
  type DescribeStoreOptions,
  describeStore,
  mutateStore,
  type StoreHarness,
  type StoreMistake,
  storeMistakes,
} from '../../src/testing/index.ts'

/** The suite must notice the mistake on the real store, with the hooks of its harness. */
export function noticesMistake<H extends StoreHarness>(
  name: string,
  mistake: StoreMistake,
  options: DescribeStoreOptions<H>,
): void {
  it(`${name}: the suite notices the mistake "${mistake}"`, async () => {
    const caughtBy = storeMistakes().find((known) => known.mistake === mistake)?.caughtBy
    let runCase = async (): Promise<void> => expect.fail(`no case ${caughtBy}: a hook is missing`)
    describeStore(name, {
      ...options,
      create: async () => {
        const harness = await options.create()
        const store = mutateStore(harness.store, mistake)
        return { ...harness, store, peer: harness.peer ? mutateStore(harness.peer, mistake) : store }
      },
      runner: {
        describe: (_, body) => body(),
        it: (title: string, body: () => Promise<void>) => {
          if (title === caughtBy) runCase = body
        },
      },
    })
    await expect(runCase()).rejects.toThrow('by the clock of the store')
  })
}
