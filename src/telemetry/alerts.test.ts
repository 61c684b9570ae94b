import { expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { postJson } from './alerts.ts'

const URL_WITH_SECRET = 'https://hooks.example.com/services/secret'

function respond(...answers: (number | Response | Error)[]) {
  return vi.fn(async () => {
    const answer = answers.shift() ?? 200
    if (answer instanceof Error) throw answer
    return answer instanceof Response ? answer : new Response(null, { status: answer })
  })
}

it('an alert is sent again after 429, 5xx and without a connection, later each time', async () => {
  const clock = new FakeClock()
  const busy = new Response(null, { status: 429, headers: { 'retry-after': '3' } })
  const fetch = respond(new Error('no connection'), 503, busy)
  const sent = postJson(URL_WITH_SECRET, {}, { fetch, clock })
  for (const [pauseMs, calls] of [
    [499, 1],
    [1, 2],
    [999, 2],
    [1, 3],
    [2999, 3],
    [1, 4],
  ] as const) {
    await clock.advance(pauseMs)
    expect(fetch).toHaveBeenCalledTimes(calls)
  }
  await sent
})

it('an alert is sent once when the connection breaks after the status', async () => {
  const body = new ReadableStream({ cancel: () => Promise.reject(new Error('reset')) })
  const fetch = respond(new Response(body, { status: 200 }))
  await postJson(URL_WITH_SECRET, {}, { fetch, clock: new FakeClock() })
  expect(fetch).toHaveBeenCalledOnce()
})

it.each([
  ['refused', 403, 'store-failed'],
  ['not available', 500, 'store-unavailable'],
] as const)('an alert that is %s fails without the secret address', async (_, status, code) => {
  const posted = postJson(URL_WITH_SECRET, {}, { fetch: respond(status), attempts: 1 })
  await expect(posted).rejects.toMatchObject({ code, message: `hooks.example.com: status ${status}` })
})
