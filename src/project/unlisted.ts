import type { LeaseStore } from '../core/index.ts'

/** What the project lock does not need of its stores: it knows its two scopes, shows no holder, and wakes nobody. */
export const unlisted: Pick<LeaseStore, 'read' | 'list' | 'sweep' | 'watch' | 'close'> = {
  read: async (resources) => resources.map(() => null),
  list: async () => ({ leases: [] }),
  sweep: async () => [],
  watch: async () => ({ async [Symbol.asyncDispose]() {} }),
  async close() {},
}
