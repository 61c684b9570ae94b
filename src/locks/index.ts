/*
 * The API of Web Locks on any store. A store need not answer in the order in which it was asked. So a request is
 * sent when the requests of its name before it have a place, shared ones together, and callbacks are called in the
 * order of sending (`request-order.ts`). `query` reads the queues before the holders, and counts a waiter whose turn
 * has come as a holder.
 */

export { createLockManager, type StoreLockManager } from './lock-manager.ts'
export type { LockManagerOptions } from './options.ts'
export type {
  Lock,
  LockGrantedCallback,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockMode,
  LockOptions,
} from './types.ts'
