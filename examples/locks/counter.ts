/** Code for the Web Locks API. It does not know whether its locks are those of a browser or of a store. */
import type { LockManager } from '../../src/locks/index.ts'

export interface Counter {
  read(): Promise<number>
  write(value: number): Promise<void>
}

/** Reads, adds one and writes. Without the lock, two at once would lose one of the additions. */
export function increase(locks: LockManager, counter: Counter): Promise<number> {
  return locks.request('counter', async () => {
    const value = (await counter.read()) + 1
    await counter.write(value)
    return value
  })
}

/** Readers do not exclude each other. */
export function look(locks: LockManager, counter: Counter): Promise<number> {
  return locks.request('counter', { mode: 'shared' }, () => counter.read())
}
