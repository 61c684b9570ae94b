import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Browser, type ServiceBed, serviceBed } from '../../../test/server/service-bed.ts'
import { memoryStore } from '../../stores/memory.ts'
import { FakeClock } from '../../testing/index.ts'
import { memoryDocuments } from '../documents.ts'

const ROOM = '/api/documents/room-1'
const LOCK = `${ROOM}/lock`
const HOUR = 3_600_000

let bed: ServiceBed
let user: Browser
beforeEach(async () => {
  bed = await serviceBed({ settings: { ttl: '1h' } })
  user = bed.browser('tab-1')
})
afterEach(() => bed[Symbol.asyncDispose]())

const lock = async (browser = user) => (await browser.call('POST', LOCK)).body.token
const save = (content: string, token: number, ifMatch?: string, browser = user) =>
  browser.call(
    'PUT',
    ROOM,
    { content, token },
    ifMatch === undefined ? {} : { headers: { 'If-Match': ifMatch } },
  )
const etagOf = async () => (await user.call('GET', ROOM)).headers.get('etag') ?? ''

describe('a content', () => {
  it('has a revision as its ETag, and If-Match rejects a save over a newer one', async () => {
    const token = await lock()
    expect(await etagOf()).toBe('"0"')
    const first = await save('one', token, '"0"')
    expect(first.headers.get('etag')).toBe(`"${first.body.revision}"`)
    expect(await etagOf()).toBe(first.headers.get('etag'))
    const second = await save('two', token, await etagOf())
    expect(second.body.revision).toBeGreaterThan(first.body.revision ?? 0)
    const late = await save('three', token, `"${first.body.revision}"`)
    expect(late.status).toBe(412)
    expect(late.body).toMatchObject({ error: 'revision_mismatch', revision: second.body.revision })
    expect((await user.call('GET', ROOM)).body).toMatchObject({ content: 'two' })
    expect((await save('four', token, `W/"${second.body.revision}"`)).status).toBe(200)
  })

  it.each(['*', '1', '"1", "2"', '"x"', ''])('is not saved with If-Match %j', async (ifMatch) => {
    const token = await lock()
    expect(await save('text', token, ifMatch)).toMatchObject({
      status: 400,
      body: { error: 'invalid_if_match' },
    })
  })

  it('is not sent again if it is still the same', async () => {
    const token = await lock()
    await save('one', token)
    const headers = { 'If-None-Match': await etagOf() }
    const same = await user.call('GET', ROOM, undefined, { headers })
    expect([same.status, same.body, same.headers.get('etag')]).toEqual([304, '', headers['If-None-Match']])
    await save('two', token)
    expect((await user.call('GET', ROOM, undefined, { headers })).status).toBe(200)
  })

  it('is deleted by its holder, which the room is told', async () => {
    const heard = bed.socket('room-1')
    await save('text', await lock())
    const headers = { 'If-Match': '"1"' }
    expect((await user.call('DELETE', ROOM, undefined, { headers })).status).toBe(412)
    expect((await user.call('DELETE', ROOM)).status).toBe(200)
    expect((await user.call('GET', ROOM)).body).toEqual({
      content: null,
      token: null,
      saved_at: null,
      revision: 0,
    })
    await expect.poll(() => heard.at(-1)?.event).toBe('document.deleted')
  })

  it('is saved by a holder that locked the room hours ago, though its fence was swept', async () => {
    const token = await lock()
    for (let minutes = 0; minutes < 180; minutes++) {
      await user.call('PUT', LOCK)
      await bed.clock.advance(60_000)
    }
    expect((await save('text', token)).status).toBe(200)
  })
})

describe('a save', () => {
  it('with an earlier or a future token is refused with the reason', async () => {
    const earlier = await lock()
    await user.call('DELETE', LOCK)
    const latest = await lock(bed.browser('tab-2'))
    for (const [token, reason] of [
      [earlier, 'a newer lock than yours exists'],
      [latest + 1, 'no lock with this token is known'],
    ] as const)
      expect((await save('text', token)).body).toMatchObject({
        error: 'stale_token',
        message: expect.stringContaining(reason),
      })
  })
})

describe('fences of rooms where nothing was saved', () => {
  it('are deleted an hour after the lock', async () => {
    const clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
    const documents = memoryDocuments({ clock })
    const grant = { token: clock.now() * 1000, holder: 'a' }
    await documents.fence('room', grant)
    await documents.sweep?.()
    expect(await documents.fence('room', grant)).toBe(false)
    await clock.advance(HOUR + 1)
    await documents.sweep?.()
    expect(await documents.fence('room', grant)).toBe(true)
  })
})

describe('a server on a store that others share', () => {
  it('keeps no contents unless it is given documents', async () => {
    const shared = { ...memoryStore({ clock: bed.clock }), kind: 'redis' }
    await using server = await serviceBed({ store: shared })
    const browser = server.browser()
    const { token } = (await browser.call('POST', LOCK)).body
    for (const [method, body] of [['GET'], ['PUT', { content: 'text', token }], ['DELETE']] as const)
      expect(await browser.call(method, ROOM, body)).toMatchObject({
        status: 404,
        body: { error: 'contents_off' },
      })
  })
})
