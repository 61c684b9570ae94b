import { join } from 'node:path'
import { startServe } from './server.ts'

interface Servers {
  readonly redis: string | undefined
  readonly postgres: string | undefined
  readonly nats: string | undefined
}

type StoreIn = (directory: string) => Promise<string>

/**
 * Each kind of store, with a function that returns an address of it. A store that is a file is in the directory. The
 * test file must name the environment variables of the servers itself, or they are not started.
 */
export function kindsOfStores({ redis = '', postgres = '', nats = '' }: Servers): [kind: string, StoreIn][] {
  return [
    ['sqlite', async (directory) => `sqlite:${join(directory, 'holdfast.db')}`],
    ['file', async (directory) => `file:${join(directory, 'locks')}`],
    ['redis', async () => redis],
    ['postgres', async () => postgres],
    ['nats', async () => nats],
    ['http', async (directory) => (await startServe(`sqlite:${join(directory, 'server.db')}`)).store],
  ]
}
