/** Lock managers on every store, for the runner of web platform tests. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ServerName, startServer } from '../../scripts/services/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { openStore } from '../processes/open-store.ts'
import { type OpenRealm, realmOn } from './web-locks.ts'

export interface WptStore extends AsyncDisposable {
  readonly open: OpenRealm
}

/** Each realm has locks of its own. */
export const WPT_STORES: Readonly<Record<string, () => Promise<WptStore>>> = {
  memory: async () => ({
    open() {
      const store = memoryStore()
      return realmOn(async () => store)
    },
    async [Symbol.asyncDispose]() {},
  }),
  sqlite: () => inFolder((folder) => `sqlite:${join(folder, 'locks.db')}`),
  file: () => inFolder((folder) => pathToFileURL(folder).href),
  redis: () => onServer('redis'),
  postgres: () => onServer('postgres'),
  mysql: () => onServer('mysql'),
  etcd: () => onServer('etcd'),
  nats: () => onServer('nats'),
  firestore: () => onServer('firestore'),
}

async function inFolder(addressIn: (folder: string) => string): Promise<WptStore> {
  return {
    async open() {
      const folder = await mkdtemp(join(tmpdir(), 'holdfast-wpt-'))
      return realmAt(addressIn(folder), () => rm(folder, { recursive: true }))
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** The names of the tests differ, so that one server serves all of them. */
async function onServer(name: ServerName): Promise<WptStore> {
  const server = await startServer(name)
  const address = name === 'firestore' ? `firestore://${server.address}` : server.address
  return { open: () => realmAt(address), [Symbol.asyncDispose]: () => server.stop() }
}

function realmAt(address: string, dispose: () => Promise<void> = async () => {}) {
  const stack = new AsyncDisposableStack()
  stack.defer(dispose)
  const open = async () => {
    const opened = await openStore(address)
    stack.defer(() => opened.close())
    return opened.store
  }
  return realmOn(open, () => stack.disposeAsync())
}
