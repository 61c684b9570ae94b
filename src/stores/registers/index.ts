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
export { type RegisterStoreOptions, registerStore } from './store.ts'
