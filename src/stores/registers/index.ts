/*
 * The store for databases that can compare and set one value: NATS and Firestore. One register per resource holds
 * the state that its writer saw, and what the write is meant to do. The server's time of the write decides the
 * outcome, by `stores/lease-row.ts`. `sweep` deletes registers that were free for an hour, and a floor keeps tokens
 * above theirs. A call that met a conflict reads and decides again (`compare-and-set.ts`), and repeated conflicts
 * queue (`conflict-queue.ts`).
 */
import type { LeaseStore } from '../../core/index.ts'
import { checkOptions, type RegisterStoreOptions } from './options.ts'
import type { Register, Registers } from './registers.ts'
import { RegisterStore } from './store.ts'

export type { RegisterStoreOptions } from './options.ts'
export {
  type IndexFields,
  isWritten,
  type Reading,
  type Register,
  type RegisterListener,
  type RegisterQuery,
  type Registers,
  type Written,
} from './registers.ts'

/**
 * A lease store on registers, for a backend that can compare and set. Each call reads, decides, and writes if nothing
 * has changed since; otherwise it starts again. That ends, because a write fails only if another write succeeded.
 *
 * @example
 * const store = registerStore(consulRegisters(client), { kind: 'consul', backend: 'Consul' })
 */
export function registerStore<R extends Register>(
  registers: Registers<R>,
  options: RegisterStoreOptions,
): LeaseStore {
  return new RegisterStore(registers, checkOptions(options))
}
