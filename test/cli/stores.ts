import { join } from 'node:path'
import { startServe } from './server.ts'

interface Servers {
  readonly redis: string | undefined
  readonly postgres: string | undefined
  readonly mysql: string | undefined
  readonly nats: string | undefined
  readonly etcd: string | undefined
}

type StoreIn = (directory: string) => Promise<string>

/**
 * Each kind of store, with a function that returns an address of it. A store that is a file is in the directory. The
 * test file must name the environment variables of the servers itself, or they are not started.
 */
export function kindsOfStores(servers: Servers): [kind: string, StoreIn][] {
  const { redis = '', postgres = '', mysql = '', nats = '', etcd = '' } = servers
  return [
    ['sqlite', async (directory) => `sqlite:${join(directory, 'holdfast.db')}`],
    ['file', async (directory) => `file:${join(directory, 'locks')}`],
    ['redis', async () => redis],
    ['postgres', async () => postgres],
    ['mysql', async () => mysql],
    ['nats', async () => nats],
    ['etcd', async () => etcd],
    ['http', async (directory) => (await startServe(`sqlite:${join(directory, 'server.db')}`)).store],
  ]
}
