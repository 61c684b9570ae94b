import { describeWebLocks, realmOn } from '../../test/locks/web-locks.ts'
import { memoryStore } from '../stores/memory.ts'

describeWebLocks('the memory store', () => {
  const store = memoryStore()
  return realmOn(async () => store)
})

/** In these, Node 24 departs from the specification. */
const NODE_FAILS = {
  'acquire: Arguments are converted first, then checked, and a signal is looked at last':
    'it looks at the signal before it checks the other options',
  'idlharness: LockManager interface: operations request and query':
    'its methods do not reject when they are called on an object of another kind',
  'query-empty: query() returns dictionary with empty arrays when no locks are held':
    'a lock stays held if a callback throws synchronously when it gets `null`',
  'query: query() includes what was requested before it in the same turn':
    'its state is that of the moment of the call',
  'signal: Abort of a waiting exclusive request lets the shared ones behind it pass':
    'a request stays in the queue after its signal has aborted, and blocks those behind it',
}

/** If the tests are right, the lock manager of Node passes them too. */
describeWebLocks('Node itself', async () => ({ locks: navigator.locks, canShare: true }), NODE_FAILS)
