import { afterEach, expect, it, vi } from 'vitest'
import type { Answer } from './api.ts'
import { inOneSession } from './one-session.ts'

afterEach(() => vi.unstubAllGlobals())

it.each([
  ['across tabs', { cookieEnabled: true, locks: navigator.locks }],
  ['in one page on plain http', { cookieEnabled: true }],
])('sends one request at a time until one was answered, then all at once, %s', async (_, browser) => {
  vi.stubGlobal('navigator', browser)
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

it('makes nobody wait where there are no cookies, and Web Locks are refused', async () => {
  const locks = { request: () => Promise.reject(new DOMException('no storage', 'SecurityError')) }
  vi.stubGlobal('navigator', { cookieEnabled: false, locks })
  const answer = { status: 200, body: {} }
  expect(await inOneSession(async () => answer)({ method: 'GET', path: '' })).toBe(answer)
})
