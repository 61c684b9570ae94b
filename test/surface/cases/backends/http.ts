import { systemClock } from 'holdfast'
import { httpStore } from 'holdfast/http'
import { memoryStore } from 'holdfast/memory'
import { createServer } from 'holdfast/server/node'
import type { Backend } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { processesCase } from '../processes.ts'
import { nodeServerCase } from '../server-node.ts'
import { storeCase } from '../store.ts'

const TOKEN = 'a-token-of-at-least-thirty-two-characters'

export async function open(): Promise<Backend> {
  const store = memoryStore()
  const log = () => {}
  const leaseApi = await createServer({ store, log, settings: { port: 0 }, authorize: () => true })
  const withToken = await createServer({
    store,
    log,
    settings: { port: 0, leaseTokens: [TOKEN], channelKey: 'other' },
  })
  return {
    cases: {
      leases: () => leasesCase(() => httpStore(leaseApi.url)),
      locks: () => locksCase(() => httpStore(leaseApi.url)),
      store: () =>
        storeCase(() =>
          httpStore(withToken.url, {
            ...{ token: TOKEN, key: 'other', maxInFlight: 10, clock: systemClock },
            headers: () => ({ 'x-trace': 'surface' }),
          }),
        ),
      server: nodeServerCase,
      processes: processesCase,
    },
    async [Symbol.asyncDispose]() {
      await leaseApi.close()
      await withToken.close()
      await store.close()
    },
  }
}
