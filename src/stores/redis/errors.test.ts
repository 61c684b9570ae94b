import { expect, it } from 'vitest'
import { LeaseError } from '../../core/index.ts'
import { storeError } from './errors.ts'

it.each([
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  'ERR Error running script (call to f_1): @user_script:10: -READONLY You cannot write. script: 1, on @user_script:1.',
  'CLUSTERDOWN The cluster is down',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'MASTERDOWN Link with MASTER is down',
  'NOREPLICAS Not enough good replicas to write.',
  'BUSY Redis is busy running a script.',
  "OOM command not allowed when used memory > 'maxmemory'.",
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
  'ERR max number of clients reached',
  'connect ECONNREFUSED 127.0.0.1:1',
  'Connection is closed.',
  'Socket closed unexpectedly',
  'Too many Cluster redirections. Last error: Error: Connection is closed.',
])('may be tried again: %s', (message) => {
  const cause = new Error(message)
  expect(storeError(cause)).toMatchObject({ code: 'store-unavailable', retryable: true, cause })
})

it.each([
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  'NOAUTH Authentication required.',
  'NOPERM this user has no permissions to run the evalsha command',
  'WRONGPASS invalid username-password pair or user is disabled.',
  'ERR unknown command',
  'MOVED 1234 127.0.0.1:7000',
])('is final: %s', (message) => {
  expect(storeError(new Error(message))).toMatchObject({ code: 'store-failed', retryable: false })
})

it('takes a bug of ours or of a client for what it is', () => {
  expect(storeError(new TypeError('x is not a function'))).toMatchObject({ code: 'store-failed' })
})

it('passes a LeaseError on', () => {
  const error = new LeaseError('closed', 'closed')
  expect(storeError(error)).toBe(error)
})
