import { join } from 'node:path'
import { startServe } from './server.ts'

interface Servers {
  readonly redis: string | undefined
  readonly postgres: string | undefined
  readonly nats: string | undefined
}

type StoreIn = (directory: string) => Promise<string>

/**
 * Each kind of store, and how to get a URL of it; those of files are in the directory. A test file must itself name
 * the variables of the servers, or they are not started.
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
