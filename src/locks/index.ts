export { createLockManager, type LockManagerOptions, type StoreLockManager } from './lock-manager.ts'
export type {
  Lock,
  LockGrantedCallback,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockMode,
  LockOptions,
} from './types.ts'
