/** Loaded by the processes of the torture, as docs/testing.md says. */
import { httpStore } from 'holdfast/http'

export function openStore(address: string) {
  const store = httpStore(address, { token: process.env.LOCKS_TOKEN ?? '' })
  return { store, close: () => store.close() }
}
