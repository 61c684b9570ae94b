import { describe, expect, it } from 'vitest'
import { type NatsConnection, natsStore } from './index.ts'

const connection: NatsConnection = {
  isClosed: () => false,
  status: async function* () {},
  publish() {},
  subscribe: () => ({ unsubscribe() {} }),
  flush: async () => {},
}

describe('natsStore', () => {
  it.each([
    ['{}', {}, 'an object'],
    ['null', null, 'null'],
    ['an address, whose password it does not show', 'nats://me:secret@host', 'a string'],
    ['a BigInt', 10n, '10n'],
    ['an object without prototype', Object.create(null), 'an object'],
    ['a part of a connection', { ...connection, status: undefined }, 'an object'],
  ])('natsStore refuses %s in place of a connection', (_, value, shown) => {
    const message = `connection: expected the NatsConnection that connect() of @nats-io/transport-node resolves with, got ${shown}`
    expect(() => natsStore(value)).toThrow(expect.objectContaining({ code: 'invalid-argument', message }))
  })

  it.each([
    [null, 'options: expected an object, got null'],
    [{ bucket: 'a.b' }, 'bucket: expected a name of letters, digits, - and _, got "a.b"'],
    [{ bucket: Symbol('b') }, 'bucket: expected a name of letters, digits, - and _, got Symbol(b)'],
    [{ replicas: 0 }, 'replicas: expected a whole number from 1, got 0'],
    [{ replicas: 3n }, 'replicas: expected a whole number from 1, got 3n'],
  ])('natsStore refuses the options %o', (options, message) => {
    const refused = expect.objectContaining({ code: 'invalid-argument', message })
    expect(() => natsStore(connection, options as never)).toThrow(refused)
  })
})
