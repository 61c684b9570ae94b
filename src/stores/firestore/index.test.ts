import { Firestore } from '@google-cloud/firestore'
import { describe, expect, it } from 'vitest'
import { firestoreStore } from './index.ts'

describe('firestoreStore', () => {
  it.each([
    ['{}', {}, 'an object'],
    ['null', null, 'null'],
    ['a text', 'firestore://me:secret@host', 'a string'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    ['an object without prototype', Object.create(null), 'an object'],
    ['a part of a client', { collection() {} }, 'an object'],
  ])('firestoreStore refuses %s in place of a client', (_, value, shown) => {
    const message = `firestore: expected a Firestore of @google-cloud/firestore or firebase-admin, got ${shown}`
    const refused = expect.objectContaining({ code: 'invalid-argument', message })
    expect(() => firestoreStore(value as Firestore)).toThrow(refused)
  })

  it.each([
    [null, 'options: expected an object, got null'],
    [{ collection: '' }, /^collection: expected the path of a collection, .*, got ""$/],
    [{ collection: 'apps/shop' }, /^collection: expected the path of a collection, .*, got "apps\/shop"$/],
    [{ collection: 10n }, /^collection: expected the path of a collection, .*, got 10n$/],
  ])('firestoreStore refuses the options %o', (options, message) => {
    const client = new Firestore({ projectId: 'holdfast-test' })
    const refused = expect.objectContaining({
      code: 'invalid-argument',
      message: expect.stringMatching(message),
    })
    expect(() => firestoreStore(client, options as never)).toThrow(refused)
  })
})
