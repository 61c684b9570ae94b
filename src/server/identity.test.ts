import { describe, expect, it } from 'vitest'
import { fakeSocket } from '../../test/server/fake-socket.ts'
import { serviceBed } from '../../test/server/service-bed.ts'
import type { Identity } from './identity.ts'

const identify = (request: Request) => {
  const id = request.headers.get('x-user') ?? new URL(request.url).searchParams.get('user')
  return id === null ? null : { id, name: id.toUpperCase(), tenant: { id: 7 }, scopes: ['edit'] }
}
const as = (user: string) => ({ headers: { 'X-User': user } })

describe('authorize', () => {
  it('authorize gets what identify returned, what others see of it, and nothing else', async () => {
    const seen: Identity[] = []
    const authorize = (identity: Identity) => {
      seen.push(identity)
      return true
    }
    await using bed = await serviceBed({ identify, authorize })
    for (let n = 0; n < 2; n++)
      await bed.browser('tab-1').call('POST', '/api/documents/1/lock', undefined, as('ann'))
    const expected = { id: 'ann', name: 'ANN', tenant: { id: 7 }, scopes: ['edit'], role: 'session' }
    for (const identity of seen)
      expect(identity).toEqual({ ...expected, publicId: expect.stringMatching(/^[\w-]{16}$/) })
    expect(seen).toHaveLength(2)
  })

  it('authorize gets the claims of this request, also if those of the last one were others', async () => {
    const scopes: unknown[] = []
    let current = 'read'
    await using bed = await serviceBed({
      identify: () => ({ id: 'ann', scope: current }),
      authorize: ({ scope }: Identity & { scope?: unknown }) => scopes.push(scope) > 0,
    })
    await bed.browser().call('GET', '/api/documents/1/lock')
    current = 'none'
    await bed.browser().call('GET', '/api/documents/1/lock')
    expect(scopes).toEqual(['read', 'none'])
  })

  it('a new name of a user is shown at once', async () => {
    let name = 'Ann'
    await using bed = await serviceBed({ identify: () => ({ id: 'ann', name }) })
    const user = bed.browser('tab-1')
    await user.call('POST', '/api/documents/1/lock')
    name = 'Anna'
    expect((await user.call('POST', '/api/documents/2/lock')).body.you).toMatchObject({ name: 'Anna' })
  })
})

it.each([[{}], [{ id: '' }], [{ id: 7 }], [{ id: 'a', name: 7 }], [{ id: 'a', role: 'root' }]])(
  'an identify that returns %j is an error of the server, and of nobody else',
  async (result) => {
    const errors: unknown[] = []
    await using bed = await serviceBed({
      identify: () => result as never,
      log: (_, __, fields) => errors.push(Object(fields).error),
    })
    expect(await bed.browser().call('GET', '/api/documents/1/lock')).toMatchObject({
      status: 500,
      body: { error: 'internal' },
    })
    expect(errors).toContainEqual(expect.stringContaining('identify: expected'))
  },
)

describe('a public channel', () => {
  const mayRead = ({ id }: Identity, action: string, resource: string) =>
    action === 'read' ? resource === `of-${id}` : action === 'subscribe' && resource === 'news'
  const opened = (user?: string) => ({
    key: 'holdfast',
    request: new Request(`http://a.test/app/holdfast${user ? `?user=${user}` : ''}`),
  })
  const CASES = [
    ['ann', 'document.of-ann', 200],
    ['ann', 'document.of-ben', 403],
    ['ann', 'news', 200],
    ['ann', 'secrets', 403],
    [undefined, 'document.of-ann', 403],
  ] as const

  it.each(CASES)(
    'a public channel of %s, %s: %i by the same rule as over HTTP',
    async (user, channel, status) => {
      const errors: string[] = []
      const log = (level: string, message: string) => level === 'error' && errors.push(message)
      await using bed = await serviceBed({ identify, authorize: mayRead, log })
      const socket = fakeSocket(bed.server.channels, opened(user))
      const [frame] = await socket.subscribe(channel)
      if (status === 200) expect(frame?.event).toBe('pusher_internal:subscription_succeeded')
      else expect(frame).toMatchObject({ event: 'pusher:subscription_error', data: { status } })
      expect(errors).toEqual([])
      const room = /^document\.(.+)/.exec(channel)?.[1]
      if (room === undefined) return
      const read = await bed
        .browser()
        .call('GET', `/api/documents/${room}/lock`, undefined, user ? as(user) : {})
      expect(read.status).toBe(user ? status : 401)
    },
  )

  it('a public channel is heard by nobody who may not read the room', async () => {
    await using bed = await serviceBed({ identify, authorize: ({ id }, __, room) => room === `of-${id}` })
    const [ann, ben] = ['ann', 'ben'].map((user) => fakeSocket(bed.server.channels, opened(user)))
    await ann?.subscribe('document.of-ann')
    await ben?.subscribe('document.of-ann')
    await bed.browser().call('POST', '/api/documents/of-ann/lock', undefined, as('ann'))
    expect(ann?.take()).toMatchObject([{ event: 'document.locked' }])
    expect(ben?.take()).toEqual([])
  })

  it('a public channel is closed to a connection without its request, and if authorize fails', async () => {
    const authorize = () => {
      throw new Error('no database')
    }
    const errors: string[] = []
    await using bed = await serviceBed({
      authorize,
      log: (level, message) => level === 'error' && errors.push(message),
    })
    for (const request of [{ key: 'holdfast' }, opened('ann')]) {
      const [frame] = await fakeSocket(bed.server.channels, request).subscribe('document.1')
      expect(frame).toMatchObject({ event: 'pusher:subscription_error', data: { status: 403 } })
    }
    expect(errors).toEqual(['channels'])
  })

  it('a public channel is open to all if neither identify nor authorize is given', async () => {
    await using bed = await serviceBed()
    const [frame] = await fakeSocket(bed.server.channels, { key: 'holdfast' }).subscribe('document.1')
    expect(frame?.event).toBe('pusher_internal:subscription_succeeded')
  })
})

describe('a guest of a session', () => {
  const LOCK = '/api/documents/1/lock'
  const as = (guest: string) => ({ headers: { 'X-Holdfast-Guest': guest } })

  it('a guest of a session is another person with the same cookie, and each guest is another one', async () => {
    await using bed = await serviceBed()
    const browser = bed.browser('tab')
    const own = Object((await browser.call('POST', LOCK)).body.you)
    const asGuest = await browser.call('POST', LOCK, undefined, as('second'))
    expect(asGuest).toMatchObject({ status: 409, body: { error: 'already_locked' } })
    const guest = Object(asGuest.body.you)
    expect(guest.session_id).not.toBe(own.session_id)
    expect(guest.client_id).not.toBe(own.client_id)
    const third = Object((await browser.call('GET', LOCK, undefined, as('third'))).body.you)
    expect([own.session_id, guest.session_id]).not.toContain(third.session_id)
    const again = Object((await browser.call('GET', LOCK, undefined, as('second'))).body.you)
    expect(again).toEqual(guest)
    expect((await browser.call('PUT', LOCK, undefined, as('second'))).status).toBe(403)
    expect((await browser.call('DELETE', LOCK, undefined, as('second'))).status).toBe(403)
    const other = bed.browser('tab')
    const stranger = Object((await other.call('GET', LOCK, undefined, as('second'))).body.you)
    expect(stranger.session_id).not.toBe(guest.session_id)
  })

  it('a guest of a session needs a name that is one, and no other way to identify people knows guests', async () => {
    await using bed = await serviceBed()
    for (const name of ['', 'a/b', 'a b', 'x'.repeat(65)])
      expect((await bed.browser().call('GET', LOCK, undefined, as(name))).body.error).toBe('invalid_client')
    await using known = await serviceBed({ identify: () => ({ id: 'ann' }) })
    const session = async (more = {}) =>
      Object((await known.browser().call('GET', LOCK, undefined, more)).body.you).session_id
    expect(await session(as('second'))).toBe(await session())
  })

  it('a guest of a session has no limit of its own', async () => {
    await using bed = await serviceBed({ settings: { rate: 1, burst: 3 } })
    const browser = bed.browser('tab')
    await browser.call('GET', LOCK)
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => browser.call('GET', LOCK, undefined, as(`guest-${n}`))),
    )
    expect(answers.map(({ status }) => status)).toContain(429)
  })
})
