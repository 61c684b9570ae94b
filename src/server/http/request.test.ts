import { getEventListeners } from 'node:events'
import type { Context } from 'hono'
import { expect, it } from 'vitest'
import { IncomingRequest } from './request.ts'

const SENDER = { address: '127.0.0.1', host: 'holdfast.test', isSecure: undefined, prefix: '' }

it.each(['client', 'server'])('the signal of a request aborts when the %s stops', (who) => {
  const { client, server, request } = open()
  const { signal } = request
  const reason = new Error('stopped')
  ;({ client, server })[who as 'client' | 'server'].abort(reason)
  expect(signal.reason).toBe(reason)
})

it('a request that is answered leaves nothing in the signal of the server', () => {
  const { server, request } = open()
  expect(request.signal).toBe(request.signal)
  expect(getEventListeners(server.signal, 'abort')).toHaveLength(1)
  request.end()
  expect(getEventListeners(server.signal, 'abort')).toHaveLength(0)
})

function open() {
  const [client, server] = [new AbortController(), new AbortController()]
  const context = { req: { raw: { signal: client.signal } } } as Context
  const request = new IncomingRequest(context, () => undefined, SENDER, server.signal)
  return { client, server, request }
}
