import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { followConnection } from './connection.ts'

const refused = new Error('connect ECONNREFUSED 127.0.0.1:6379')

/** As a client of `redis`. */
class Client extends EventEmitter {
  isReady = false
  fail(error: unknown): void {
    this.isReady = false
    this.emit('error', error)
  }
  become(isReady: boolean): void {
    this.isReady = isReady
    this.emit(isReady ? 'ready' : 'end')
  }
}

describe('a client that several stores follow', () => {
  it('a client that several stores follow has one listener, for as long as one store is open', () => {
    const client = new EventEmitter()
    const [first, second] = [followConnection(client), followConnection(client)]
    expect(client.listenerCount('error')).toBe(1)
    first.stop()
    first.stop()
    expect(() => client.emit('error', refused)).not.toThrow()
    second.stop()
    expect(client.eventNames()).toEqual([])
  })

  it('a client that several stores follow may have no events', () => {
    const { trouble, stop } = followConnection({})
    expect(trouble()).toBeUndefined()
    stop()
  })
})

describe('the trouble of a connection', () => {
  it('the trouble of a connection is that it never came about, with the last error of the client', () => {
    const client = new Client()
    const { trouble } = followConnection(client)
    expect(trouble()?.message).toBe('the client has never connected')
    client.fail(new Error('getaddrinfo ENOTFOUND redis'))
    client.fail(refused)
    expect(trouble()).toMatchObject({
      message: `the client has never connected: ${refused.message}`,
      cause: refused,
    })
  })

  it('the trouble of a connection is over when the client is connected, and begins again when the connection is lost', () => {
    const client = new Client()
    const { trouble } = followConnection(client)
    client.fail(refused)
    client.become(true)
    expect(trouble()).toBeUndefined()
    client.become(false)
    expect(trouble()?.message).toBe('the client has lost its connection')
    client.fail(refused)
    expect(trouble()).toMatchObject({
      message: `the client has lost its connection: ${refused.message}`,
      cause: refused,
    })
  })

  it('the trouble of a connection is not over while the server lets the client not in', () => {
    const client = new Client()
    const { trouble } = followConnection(client)
    client.emit('connect')
    client.fail(new Error('NOAUTH'))
    expect(trouble()?.message).toBe('the client has never connected: NOAUTH')
  })

  it('the trouble of a connection explains only why the backend did not answer, and only once', () => {
    const client = new Client()
    const { explain } = followConnection(client)
    client.fail(refused)
    const silent = new LeaseError('store-unavailable', 'no answer', { resource: 'r' })
    const explained = explain(silent)
    expect(explained).toMatchObject({ code: 'store-unavailable', cause: refused, resource: 'r' })
    expect(explained.message).toBe(`no answer; the client has never connected: ${refused.message}`)
    expect(explain(explained)).toBe(explained)
    const failed = new LeaseError('store-failed', 'wrong password')
    expect(explain(failed)).toBe(failed)
  })
})
