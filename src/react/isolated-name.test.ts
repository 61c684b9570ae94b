import { expect, it } from 'vitest'
import { INITIAL_STATE } from '../client/index.ts'
import { isolatedName, withIsolatedNames } from './isolated-name.ts'

it('only a name that is written from right to left is isolated', () => {
  expect(isolatedName('מיקה 3')).toBe('\u2068מיקה 3\u2069')
  expect(isolatedName('مريم')).toBe('\u2068مريم\u2069')
  for (const name of ['Mika', 'みか', '', null]) expect(isolatedName(name)).toBe(name)
})

it('every name in the state of a lock is isolated', () => {
  const person = { name: 'מיקה', sessionId: 's', clientId: null }
  const request = {
    id: 'r',
    name: 'מיקה',
    kind: 'request',
    until: 0,
    isOwn: false,
    passes: [person],
    postponedUntil: null,
  } as const
  const holder = { ...person, isMe: false, since: 0, expiresAt: 0, token: 1 }
  const state = { ...INITIAL_STATE, holder, waiters: [person], request, passedBy: request }
  const shown = JSON.stringify(withIsolatedNames(state as never))
  expect(shown.match(/מיקה/g)).toHaveLength(6)
  expect(shown.match(/\u2068מיקה\u2069/g)).toHaveLength(6)
})
