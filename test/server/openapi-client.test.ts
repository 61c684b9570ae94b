import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import createClient from 'openapi-fetch'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { typesOf } from './contract/generate-types.ts'
import type { paths } from './contract/openapi-types.ts'
import { ORIGIN, type ServiceBed, serviceBed } from './service-bed.ts'

const TYPES = join(import.meta.dirname, 'contract', 'openapi-types.ts')
const LOCK = '/api/documents/{roomId}/lock'
const params = { path: { roomId: 'room-1' } }

let bed: ServiceBed
beforeEach(async () => {
  bed = await serviceBed()
})
afterEach(() => bed[Symbol.asyncDispose]())

/** A generated client of its own session. */
function openClient() {
  let cookie: string | undefined
  return createClient<paths>({
    baseUrl: ORIGIN,
    async fetch(request) {
      if (cookie !== undefined) request.headers.set('Cookie', cookie)
      const response = await bed.server.fetch(request)
      cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie
      return response
    },
  })
}

/** The seconds since noon. */
const secondsOf = (time: string | undefined) =>
  Date.parse(time ?? '') / 1000 - Date.UTC(2030, 0, 1, 12) / 1000

it('the types of the generated client are those of the document', async () => {
  const document = await (await bed.server.fetch(new Request(`${ORIGIN}/openapi.json`))).json()
  const types = `/** Written by UPDATE_CLIENT=1 from the OpenAPI document. */\n${await typesOf(document)}`
  if (process.env['UPDATE_CLIENT']) writeFileSync(TYPES, types)
  expect(readFileSync(TYPES, 'utf8')).toBe(types)
})

describe('a client that was generated from the document', () => {
  it('locks, sends heartbeats every ten seconds, closes the browser, and the lock ends 30 s after the last one', async () => {
    const [holder, other] = [openClient(), openClient()]
    const locked = await holder.POST(LOCK, { params, body: { name: 'Aoi' } })
    expect(secondsOf(locked.data?.expires_at)).toBe(30)

    const ends: number[] = []
    for (let beats = 0; beats < 3; beats++) {
      await bed.clock.advance(10_000)
      const { data } = await holder.PUT(LOCK, { params })
      ends.push(secondsOf(data?.expires_at))
    }
    expect(ends).toEqual([40, 50, 60])

    await bed.clock.advance(29_999)
    const refused = await other.POST(LOCK, { params })
    expect(refused.response.status).toBe(409)
    expect(refused.error).toMatchObject({ error: 'already_locked', holder: { name: 'Aoi', is_you: false } })
    await bed.clock.advance(1)
    const { data: state } = await other.GET(LOCK, { params })
    expect(state?.is_locked).toBe(false)
    expect((await other.POST(LOCK, { params })).data?.success).toBe(true)
  })

  it('a client that was generated from the document is told why its heartbeat is refused: there is no lock, or it is not its own', async () => {
    const [holder, other] = [openClient(), openClient()]
    const none = await holder.PUT(LOCK, { params })
    expect([none.response.status, none.error?.error]).toEqual([404, 'lock_not_found'])
    await holder.POST(LOCK, { params })
    const foreign = await other.PUT(LOCK, { params })
    expect([foreign.response.status, foreign.error?.error]).toEqual([403, 'not_locked_by_user'])
    expect((await other.DELETE(LOCK, { params })).response.status).toBe(403)
    expect((await holder.DELETE(LOCK, { params })).data).toEqual({ success: true })
    const { data: state } = await other.GET(LOCK, { params })
    expect(state?.is_locked).toBe(false)
  })

  it('saves and reads the content, with its revision as a condition', async () => {
    const holder = openClient()
    const { data: lock } = await holder.POST(LOCK, { params })
    const body = { content: { text: 'one' }, token: lock?.token ?? 0 }
    const saved = await holder.PUT('/api/documents/{roomId}', { params, body })
    const late = await holder.PUT('/api/documents/{roomId}', {
      params: { ...params, header: { 'If-Match': '"1"' } },
      body,
    })
    expect(late.response.status).toBe(412)
    expect(late.error).toMatchObject({ error: 'revision_mismatch', revision: saved.data?.revision })
    const { data: read } = await holder.GET('/api/documents/{roomId}', { params })
    expect(read?.content).toEqual({ text: 'one' })
  })
})
