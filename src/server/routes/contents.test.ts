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
  it('a content has a revision as its ETag, and If-Match rejects a save over a newer one', async () => {
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

  it.each(['1', '"1"x', '"1",', '', '*, "1"'])(
    'is not saved with If-Match %j, which is malformed',
    async (ifMatch) => {
      const token = await lock()
      expect(await save('text', token, ifMatch)).toMatchObject({
        status: 400,
        body: { error: 'invalid_if_match' },
      })
    },
  )

  it.each([
    ['If-Match', '*', 412, 200],
    ['If-Match', '"x"', 412, 412],
    ['If-Match', '"1", ETAG', 412, 200],
    ['If-Match', 'W/"1" , "0"', 200, 412],
    ['If-None-Match', '*', 200, 412],
    ['If-None-Match', 'ETAG', 200, 412],
    ['If-None-Match', '"1"', 200, 200],
  ])(
    'a content is saved and deleted with %s: %s as RFC 9110 says',
    async (name, value, whenEmpty, whenSaved) => {
      const token = await lock()
      const put = async (content: string) => {
        const headers = {
          [name]: value.replace('ETAG', await etagOf().then((tag) => (tag === '"0"' ? '"1"' : tag))),
        }
        return user.call('PUT', ROOM, { content, token }, { headers })
      }
      expect((await put('one')).status).toBe(whenEmpty)
      await save('two', token)
      const etag = await etagOf()
      const late = await put('three')
      expect(late.status).toBe(whenSaved)
      if (whenSaved === 412) expect(late.headers.get('etag')).toBe(etag)
      expect((await user.call('GET', ROOM)).body.content).toBe(whenSaved === 412 ? 'two' : 'three')
      const headers = { [name]: value.replace('ETAG', await etagOf()) }
      expect((await user.call('DELETE', ROOM, undefined, { headers })).status).toBe(whenSaved)
    },
  )

  it('a content is saved with If-Match: * though it was saved between the check and the save', async () => {
    const documents = memoryDocuments({ clock: bed.clock })
    let isChanged = false
    await using other = await serviceBed({
      settings: { ttl: '1h' },
      documents: {
        ...documents,
        async save(room, grant, content, conditions) {
          if (conditions?.revision !== undefined && !isChanged) {
            isChanged = true
            await documents.save(room, grant, 'in between')
          }
          return documents.save(room, grant, content, conditions)
        },
      },
    })
    const holder = other.browser('tab-1')
    const latest = await lock(holder)
    await save('one', latest, undefined, holder)
    expect((await save('two', latest, '*', holder)).status).toBe(200)
    expect(isChanged).toBe(true)
    expect((await holder.call('GET', ROOM)).body.content).toBe('two')
  })

  it('a content is not sent again if it is still the same', async () => {
    const token = await lock()
    await save('one', token)
    const headers = { 'If-None-Match': await etagOf() }
    const same = await user.call('GET', ROOM, undefined, { headers })
    expect([same.status, same.body, same.headers.get('etag')]).toEqual([304, '', headers['If-None-Match']])
    await save('two', token)
    expect((await user.call('GET', ROOM, undefined, { headers })).status).toBe(200)
  })

  it('a content is deleted by its holder, which the room is told', async () => {
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

  it('a content is not deleted by a late request of its holder, and a late save does not bring it back', async () => {
    const token = await lock()
    const remove = (query: string, browser = user) => browser.call('DELETE', `${ROOM}?${query}`)
    const put = (content: string, sequence: number) => user.call('PUT', ROOM, { content, token, sequence })
    await put('three', 3)
    expect(await remove(`token=${token}&sequence=2`)).toMatchObject({
      status: 409,
      body: { error: 'stale_save', sequence: 3 },
    })
    expect((await user.call('GET', ROOM)).body).toMatchObject({ content: 'three' })
    expect((await remove(`token=${token}&sequence=5`)).status).toBe(200)
    expect((await put('four', 4)).body).toMatchObject({ error: 'stale_save', sequence: 5 })
    expect((await user.call('GET', ROOM)).body).toMatchObject({ content: null })

    await user.call('DELETE', LOCK)
    const next = await lock()
    await save('next turn', next)
    expect((await remove(`token=${token}&sequence=6`)).body).toMatchObject({ error: 'stale_token' })
    expect((await remove(`token=${next + 1}`)).body).toMatchObject({ error: 'stale_token' })
    expect((await remove(`token=${next}`, bed.browser('tab-2'))).status).toBe(403)
    expect(await remove('sequence=7')).toMatchObject({ status: 400, body: { error: 'invalid_query' } })
    expect((await user.call('GET', ROOM)).body).toMatchObject({ content: 'next turn' })
  })

  it('a content is saved by a holder that locked the room hours ago, though its fence was swept', async () => {
    const token = await lock()
    for (let minutes = 0; minutes < 180; minutes++) {
      await user.call('PUT', LOCK)
      await bed.clock.advance(60_000)
    }
    expect((await save('text', token)).status).toBe(200)
  })
})

describe('a save', () => {
  it('a save with an earlier or a future token is refused with the reason', async () => {
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

describe('a save with a sequence', () => {
  const send = (content: string, token: number, sequence: unknown) =>
    user.call('PUT', ROOM, { content, token, sequence })

  it('a save with a sequence never replaces a newer one of the same lock, and says which one is stored', async () => {
    const token = await lock()
    expect((await send('two', token, 2)).status).toBe(200)
    expect(await send('one', token, 1)).toMatchObject({
      status: 409,
      body: { error: 'stale_save', sequence: 2 },
    })
    expect((await user.call('GET', ROOM)).body).toMatchObject({ content: 'two' })
  })

  it('a save with a sequence is answered as before when it is repeated, also over another revision than If-Match says', async () => {
    const token = await lock()
    const body = { content: 'text', token, sequence: 5 }
    const headers = { 'If-Match': '"0"' }
    const first = await user.call('PUT', ROOM, body, { headers })
    const again = await user.call('PUT', ROOM, body, { headers })
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'))
  })

  it.each([-1, 1.5, '1', null, 2 ** 53])(
    'a save with a sequence of %j is a malformed request',
    async (sequence) => {
      expect(await send('text', await lock(), sequence)).toMatchObject({
        status: 400,
        body: { error: 'invalid_body', message: expect.stringContaining('sequence') },
      })
    },
  )
})

describe('fences of rooms where nothing was saved', () => {
  it('fences of rooms where nothing was saved are deleted an hour after the lock', async () => {
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
  it('a server on a store that others share keeps no contents unless it is given documents', async () => {
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
