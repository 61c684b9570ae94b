import { afterAll, beforeAll, describe, it } from 'vitest'
import { type Server, type ServerName, startServer } from '../../scripts/services/index.ts'
import { describeTorture, type TortureOptions } from '../../src/testing/node/index.ts'

/** The module that opens a store of this package by its URL. */
export const OPEN_STORE = new URL('./open-store.ts', import.meta.url)

/** The torture on a store of this package that needs no server. */
export function tortureFiles(name: string, options: Omit<TortureOptions, 'module' | 'runner'>): void {
  describeTorture(name, { runner: { describe, it }, module: OPEN_STORE, log: console.log, ...options })
}

/** The torture on a server of its own, which is frozen and crashed. `forgets`: in a crash, what it acknowledged. */
export function tortureServer(
  name: ServerName,
  options: Partial<TortureOptions>,
  { forgets = false }: { readonly forgets?: boolean } = {},
): void {
  let server: Server
  beforeAll(async () => {
    server = await startServer(name)
  })
  afterAll(() => server?.stop())

  tortureFiles(name, {
    // The address of the emulator has no scheme.
    address: () => (name === 'firestore' ? `firestore://${server.address}` : server.address),
    freeze() {
      server.freeze()
      return () => server.thaw()
    },
    ...(!forgets && { restart: () => server.restart() }),
    ...options,
  })
}
