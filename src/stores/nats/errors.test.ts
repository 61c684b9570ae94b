import { errors } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import { LeaseError } from '../../core/index.ts'
import { explain } from './errors.ts'

const { PermissionViolationError, RequestError, TimeoutError, ClosedConnectionError } = errors
const denied = new PermissionViolationError('denied', 'publish', '$KV.holdfast.lease.r')

describe('an error of NATS', () => {
  it.each([
    ['a timeout', new TimeoutError(), 'store-unavailable'],
    ['no responders', new RequestError('no responders'), 'store-unavailable'],
    ['a cluster without a leader', apiError(10008, 503), 'store-unavailable'],
    ['a bucket that is gone', named('StreamNotFoundError'), 'store-unavailable'],
    ['no permission', denied, 'store-failed'],
    ['a request without permission', new RequestError('denied', { cause: denied }), 'store-failed'],
    ['a closed connection', new ClosedConnectionError(), 'store-failed'],
    ['a full stream', apiError(10054, 400), 'store-failed'],
    ['what is no error', 'oops', 'store-failed'],
  ])('%s', (_, error, code) => {
    expect(explain(error)).toMatchObject({ code, cause: error })
  })

  it('is left alone when it is explained already', () => {
    const error = new LeaseError('closed', 'this store was closed')
    expect(explain(error)).toBe(error)
  })
})

function named(name: string): Error {
  return Object.assign(new Error(name), { name })
}

function apiError(code: number, status: number): Error {
  return Object.assign(named('JetStreamApiError'), { code, status })
}
