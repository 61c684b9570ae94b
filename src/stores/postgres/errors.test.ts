import { describe, expect, it } from 'vitest'
import { LeaseError } from '../../core/index.ts'
import { asStoreError } from './errors.ts'

const failure = (code: string | undefined, message = 'what happened') =>
  Object.assign(new Error(message), code !== undefined && { code })

describe('an error of Postgres', () => {
  it.each([
    failure('57P01', 'terminating connection due to administrator command'),
    failure('57P02'),
    failure('57P03', 'the database system is starting up'),
    failure('57014', 'canceling statement due to statement timeout'),
    failure('53300', 'sorry, too many clients already'),
    failure('40001', 'could not serialize access'),
    failure('40P01', 'deadlock detected'),
    failure('55P03', 'canceling statement due to lock timeout'),
    failure('25006', 'cannot execute UPDATE in a read-only transaction'),
    failure('08006'),
    failure('08P01', 'query_wait_timeout'),
    failure('ECONNREFUSED'),
    failure('ECONNRESET'),
    failure('EPIPE'),
    failure('ENOTFOUND'),
    failure('CONNECTION_CLOSED'),
    failure('CONNECT_TIMEOUT'),
    failure(undefined, 'Connection terminated unexpectedly'),
    failure(undefined, 'timeout exceeded when trying to connect'),
    failure(undefined, 'Query read timeout'),
    failure(undefined, 'Client has encountered a connection error and is not queryable'),
    new AggregateError([failure('ECONNREFUSED', 'connect ECONNREFUSED ::1:5432')]),
  ])('passes: %o', (error) => {
    expect(asStoreError(error)).toMatchObject({ code: 'store-unavailable', retryable: true, cause: error })
  })

  it.each([
    failure('42501', 'permission denied for table holdfast_leases'),
    failure('42601', 'syntax error'),
    failure('42883', 'function does not exist'),
    failure('28P01', 'password authentication failed'),
    failure('3D000', 'database does not exist'),
    failure('22021', 'invalid byte sequence for encoding "UTF8": 0x00'),
    failure('XX001'),
    failure('CONNECTION_ENDED'),
    failure(undefined, 'Cannot use a pool after calling end on the pool'),
    new TypeError('x is not a function'),
    'a string',
  ])('stays: %o', (error) => {
    expect(asStoreError(error)).toMatchObject({ code: 'store-failed', retryable: false, cause: error })
  })

  it('says what the server said, with its hint', () => {
    const error = Object.assign(failure('42501', 'denied'), { hint: 'Ask Mika.' })
    expect(asStoreError(error, 'r')).toMatchObject({ message: 'postgres: denied (Ask Mika.)', resource: 'r' })
    const many = new AggregateError([failure('ECONNREFUSED', 'connect ECONNREFUSED ::1:5432')])
    expect(asStoreError(many).message).toBe('postgres: connect ECONNREFUSED ::1:5432')
  })

  it('is left as it is when it is ours', () => {
    const error = new LeaseError('closed', 'closed')
    expect(asStoreError(error)).toBe(error)
  })
})
