import { asLeaseError } from '../../base/errors.ts'
import type { Bus } from '../bus.ts'
import { createBus } from './create-bus.ts'

/**
 * For a service with one node, or with several nodes in one process that share it.
 *
 * @example
 * const bus = memoryBus()
 * const nodes = [await createLockServer({ store, documents, bus }), await createLockServer({ store, documents, bus })]
 */
export function memoryBus(): Bus & AsyncDisposable {
  return createBus({ name: 'memory', explain: asLeaseError }, ({ received }) => ({
    async send(text) {
      // As on every other bus, nobody receives a message before `publish` has returned.
      await null
      received(text)
    },
    async listen() {},
    unlisten() {},
  }))
}
