import { expect, it } from 'vitest'
import type { Answer } from './api.ts'
import { inOneSession } from './one-session.ts'

it('sends one request at a time until one was answered, then all at once', async () => {
  const asked: PromiseWithResolvers<Answer>[] = []
  const api = inOneSession(() => {
    const call = Promise.withResolvers<Answer>()
    asked.push(call)
    return call.promise
  })
  const request = { method: 'GET', path: '' } as const
  const calls = [api(request), api(request), api(request)].map((call) => call.catch(() => 'failed'))
  await expect.poll(() => asked.length).toBe(1)
  asked[0]?.reject(new Error('no network'))
  await expect.poll(() => asked.length).toBe(2)
  asked[1]?.resolve({ status: 200, body: {} })
  await expect.poll(() => asked.length).toBe(3)
  for (let n = 0; n < 2; n++) void api(request)
  expect(asked).toHaveLength(5)
  asked[2]?.resolve({ status: 404, body: {} })
  expect(await Promise.all(calls)).toMatchObject(['failed', { status: 200 }, { status: 404 }])
})
