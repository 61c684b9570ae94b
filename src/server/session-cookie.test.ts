import { describe, expect, it } from 'vitest'
import { settingsOf } from '../configuration/settings.ts'
import { FakeClock } from '../testing/index.ts'
import { sessionCookies } from './session-cookie.ts'

const OLD = 'an old cookie secret'
const NEW = 'a new cookie secret.'
const DAY_MS = 86_400_000
const PLAIN = { isSecure: false, prefix: '' }

describe('a session cookie', () => {
  it('a session cookie is set once, hidden from scripts and other sites, and accepted afterwards', async () => {
    const { read } = await cookies([NEW])
    const { id, setCookie = '' } = await read(undefined, PLAIN)
    expect(setCookie).toMatch(/^holdfast_session=[\w.-]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)
    expect(await read(`theme=dark; ${valueIn(setCookie)}; other=1`, PLAIN)).toEqual({ id, isNew: false })
  })

  it('a session cookie is secure if the connection is', async () => {
    const { read } = await cookies([NEW])
    expect((await read(undefined, { ...PLAIN, isSecure: true })).setCookie).toMatch(/; Secure$/)
  })

  it('a session cookie is only for the path below which the client sees the service', async () => {
    const { read } = await cookies([NEW])
    expect((await read(undefined, { ...PLAIN, prefix: '/locks' })).setCookie).toContain('; Path=/locks; ')
  })

  it('a session cookie is still accepted with an old secret, and signed again with the new one', async () => {
    const { id, setCookie = '' } = await (await cookies([OLD])).read(undefined, PLAIN)
    const rotated = await cookies([NEW, OLD])
    const again = await rotated.read(valueIn(setCookie), PLAIN)
    expect(again.id).toBe(id)
    expect((await (await cookies([NEW])).read(valueIn(again.setCookie), PLAIN)).id).toBe(id)
  })

  it('a session cookie is renewed after half of its time, and expires', async () => {
    const { read, clock } = await cookies([NEW])
    const { id, setCookie } = await read(undefined, PLAIN)
    await clock.advance(14 * DAY_MS)
    expect(await read(valueIn(setCookie), PLAIN)).toEqual({ id, isNew: false })
    await clock.advance(2 * DAY_MS)
    expect(await read(valueIn(setCookie), PLAIN)).toMatchObject({ id, setCookie: expect.any(String) })
    await clock.advance(14 * DAY_MS)
    expect((await read(valueIn(setCookie), PLAIN)).id).not.toBe(id)
  })

  it.each([
    ['another id', (value: string) => value.replace(/=./, '=x')],
    ['another signature', (value: string) => value.replace(/.$/, (last) => (last === '0' ? '1' : '0'))],
    ['another time', (value: string) => value.replace(/\.\w/, '.9')],
    ['no signature', (value: string) => value.replace(/\.[^.]+$/, '')],
    ['one part more', (value: string) => `${value}.x`],
    ['nonsense', () => 'holdfast_session=%00.;=..'],
  ])('a session cookie that is forged, with %s, starts a new session', async (_, forge) => {
    const { read } = await cookies([NEW])
    const { id, setCookie } = await read(undefined, PLAIN)
    const forged = await read(forge(valueIn(setCookie)), PLAIN)
    expect(forged.id).not.toBe(id)
    expect(forged.setCookie).toBeDefined()
  })
})

async function cookies(cookieSecrets: readonly string[]) {
  const clock = new FakeClock()
  return { clock, ...(await sessionCookies(settingsOf({ cookieSecrets }), clock)) }
}

function valueIn(setCookie = ''): string {
  return setCookie.split(';')[0] ?? ''
}
