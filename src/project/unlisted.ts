import type { LeaseStore } from '../core/index.ts'

/** What the project lock does not ask of its stores: it knows its two scopes, and no other process waits for a call. */
export const unlisted: Pick<LeaseStore, 'list' | 'sweep' | 'watch' | 'close'> = {
  list: async () => ({ leases: [] }),
  sweep: async () => [],
  watch: async () => ({ async [Symbol.asyncDispose]() {} }),
  async close() {},
}
