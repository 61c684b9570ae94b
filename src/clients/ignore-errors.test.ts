import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { ignoreErrors } from './ignore-errors.ts'

it('hears a client once, for as long as one store is open', () => {
  const client = new EventEmitter()
  const [first, second] = [ignoreErrors(client), ignoreErrors(client)]
  expect(client.listenerCount('error')).toBe(1)
  first()
  first()
  expect(() => client.emit('error', new Error('the connection broke'))).not.toThrow()
  second()
  expect(client.listenerCount('error')).toBe(0)
})

it('takes a client that tells no events', () => {
  ignoreErrors({})()
})
