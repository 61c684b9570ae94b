import { systemClock } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Backend } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  return {
    cases: {
      leases: () => leasesCase(() => memoryStore()),
      store: () => storeCase(() => memoryStore({ clock: systemClock })),
    },
    async [Symbol.asyncDispose]() {},
  }
}
