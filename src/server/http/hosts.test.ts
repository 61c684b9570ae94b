import { expect, it } from 'vitest'
import { hostCheck } from './hosts.ts'

it.each([
  ['localhost', 'localhost:4321', true],
  ['127.0.0.1', '127.0.0.1', true],
  ['127.0.0.1', 'app.localhost:80', true],
  ['::1', '[::1]:4321', true],
  ['127.0.0.1', 'evil.test:4321', false],
  ['::1', 'localhost.evil.test', false],
  ['localhost', '', false],
  ['0.0.0.0', 'app.example.com', true],
  [undefined, 'app.example.com', true],
])('a server on %s that names no hosts answers to %s: %s', (listensOn, host, isAnswered) => {
  expect(hostCheck([], listensOn)(host)).toBe(isAnswered)
})

it.each([
  ['127.0.0.1', 'App.example.com:8080', true],
  ['127.0.0.1', 'localhost', true],
  ['127.0.0.1', 'evil.test', false],
  ['0.0.0.0', 'app.example.com', true],
  ['0.0.0.0', 'localhost', false],
])('a server on %s with the host app.example.com answers to %s: %s', (listensOn, host, isAnswered) => {
  expect(hostCheck(['app.example.com:443'], listensOn)(host)).toBe(isAnswered)
})
