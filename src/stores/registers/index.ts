export type {
  IndexFields,
  Reading,
  Register,
  RegisterListener,
  RegisterQuery,
  Registers,
  Written,
} from './registers.ts'
export { registerStore } from './store.ts'
