import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { etcdError } from './etcd-errors.ts'
import { mysqlError } from './mysql-errors.ts'
import { natsError } from './nats-errors.ts'
import { postgresError } from './postgres-errors.ts'
import { redisError } from './redis-errors.ts'

it.each([
  ['Redis', redisError],
  ['Postgres', postgresError],
  ['MySQL', mysqlError],
  ['NATS', natsError],
  ['etcd', etcdError],
])('an error of %s has no password of an address in its message', (_, explain) => {
  const { message } = explain(new Error('no answer from proto://app:se#cret@db/app?password=secret today'))
  expect(message).toContain('no answer from proto://app:… today')
})

it.each(['auth', 'hello'])('an error of Redis does not keep the arguments of %s', (name) => {
  const reply = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
    name: 'ReplyError',
    command: { name, args: ['app', 'secret'] },
  })
  const error = redisError(reply)
  expect(inspect(error, { depth: 10 })).not.toContain('secret')
  expect(error.cause).toMatchObject({ name: 'ReplyError', message: reply.message, stack: reply.stack })
})

it('an error of Redis keeps the other commands as they are', () => {
  const reply = Object.assign(new Error('WRONGTYPE'), { command: { name: 'evalsha', args: ['key'] } })
  expect(redisError(reply).cause).toBe(reply)
})
