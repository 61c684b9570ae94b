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
