import { describe, expect, it } from 'vitest'
import { ORIGIN, serviceBed } from '../../../test/server/service-bed.ts'
import { settingsOf } from '../../configuration/settings.ts'
import { trustedProxies } from './proxies.ts'

type Headers = Readonly<Record<string, string>>

function senderOf(trustProxy: unknown, headers: Headers, connection?: string, proxyHeaders = 'auto') {
  const read = trustedProxies(settingsOf({ trustProxy, proxyHeaders }))
  return read((name) => headers[name], connection)
}

const NETWORKS = '10.0.0.0/8, fd00::/8'

describe('the address of a client', () => {
  it.each<[title: string, trustProxy: unknown, headers: Headers, connection: string, expected: string]>([
    [
      'is that of the connection, whatever headers say',
      false,
      { 'x-forwarded-for': '1.1.1.1' },
      '10.0.0.1',
      '10.0.0.1',
    ],
    [
      'is what the proxy has written last',
      1,
      { 'x-forwarded-for': '6.6.6.6, 1.1.1.1' },
      '10.0.0.1',
      '1.1.1.1',
    ],
    ['true is one proxy', true, { 'x-forwarded-for': '6.6.6.6, 1.1.1.1' }, '10.0.0.1', '1.1.1.1'],
    [
      'is found behind two proxies',
      2,
      { 'x-forwarded-for': '6.6.6.6,1.1.1.1 , 10.0.0.2' },
      '10.0.0.1',
      '1.1.1.1',
    ],
    ['is the first if there are fewer entries', 3, { 'x-forwarded-for': '1.1.1.1' }, '10.0.0.1', '1.1.1.1'],
    ['is that of the connection without a header', 1, {}, '10.0.0.1', '10.0.0.1'],
    [
      'is that of the connection if the entry is no address',
      1,
      { 'x-forwarded-for': 'x' },
      '10.0.0.1',
      '10.0.0.1',
    ],
    [
      'is that of the connection if the entry is empty',
      1,
      { 'x-forwarded-for': '1.1.1.1, ' },
      '10.0.0.1',
      '10.0.0.1',
    ],
    ['comes without its port', 1, { 'x-forwarded-for': '1.1.1.1:8080' }, '10.0.0.1', '1.1.1.1'],
    ['comes without brackets', 1, { 'x-forwarded-for': '[2001:db8::1]:80' }, '10.0.0.1', '2001:db8::1'],
    [
      'skips trusted networks',
      NETWORKS,
      { 'x-forwarded-for': '6.6.6.6, 1.1.1.1, fd00::5' },
      '10.1.2.3',
      '1.1.1.1',
    ],
    ['also as IPv4 in IPv6', NETWORKS, { 'x-forwarded-for': '1.1.1.1' }, '::ffff:10.1.2.3', '1.1.1.1'],
    [
      'ignores headers of other connections',
      NETWORKS,
      { 'x-forwarded-for': '1.1.1.1' },
      '11.1.2.3',
      '11.1.2.3',
    ],
    ['ignores headers without a connection', NETWORKS, { 'x-forwarded-for': '1.1.1.1' }, '', ''],
    [
      'is read from Forwarded',
      1,
      { forwarded: 'for=6.6.6.6, For="[2001:db8::1]:4711";proto=https' },
      'p',
      '2001:db8::1',
    ],
    ['has quotes with commas in Forwarded', 1, { forwarded: 'by="a,\\"b";for=1.1.1.1' }, 'p', '1.1.1.1'],
    ['may be hidden in Forwarded', 1, { forwarded: 'for=_k7' }, '10.0.0.1', '_k7'],
    [
      'is that of the connection with a malformed Forwarded',
      1,
      { forwarded: 'for=1.1.1.1, ???' },
      '10.0.0.1',
      '10.0.0.1',
    ],
    [
      'prefers X-Forwarded-For',
      1,
      { 'x-forwarded-for': '1.1.1.1', forwarded: 'for=6.6.6.6' },
      'p',
      '1.1.1.1',
    ],
  ])('%s', (_, trustProxy, headers, connection, expected) => {
    expect(senderOf(trustProxy, headers, connection).address).toBe(expected)
  })

  it('the address of a client is read from the chosen header only', () => {
    const both = { 'x-forwarded-for': '1.1.1.1', forwarded: 'for=2.2.2.2' }
    expect(senderOf(1, both, 'p', 'forwarded').address).toBe('2.2.2.2')
    expect(senderOf(1, { forwarded: 'for=2.2.2.2' }, 'p', 'x-forwarded').address).toBe('p')
    expect(senderOf(1, { 'x-forwarded-for': '1.1.1.1' }, 'p', 'forwarded').address).toBe('p')
  })
})

describe('the host and the protocol', () => {
  const direct = { host: 'inside:4321', 'x-forwarded-host': 'a.example', 'x-forwarded-proto': 'https' }

  it('the host and the protocol are those of the request without a trusted proxy', () => {
    for (const [trust, connection] of [
      [false, '10.0.0.1'],
      [NETWORKS, '11.0.0.1'],
    ])
      expect(senderOf(trust, direct, String(connection))).toMatchObject({
        host: 'inside:4321',
        isSecure: undefined,
      })
  })

  it.each<[title: string, headers: Headers, host: string, isSecure: boolean | undefined]>([
    ['come from the proxy', direct, 'a.example', true],
    ['in any letter case', { ...direct, 'x-forwarded-proto': 'HTTPS' }, 'a.example', true],
    [
      'from its entry of a list',
      { ...direct, 'x-forwarded-host': 'evil.example, a.example' },
      'a.example',
      true,
    ],
    [
      'from its entry of a list of protocols',
      { ...direct, 'x-forwarded-proto': 'https, http' },
      'a.example',
      false,
    ],
    ['but no invalid name', { ...direct, 'x-forwarded-host': 'a b/c' }, 'inside:4321', true],
    [
      'from Forwarded',
      { host: 'inside', forwarded: 'for=1.1.1.1;Host="b.example:8443";PROTO=Https' },
      'b.example:8443',
      true,
    ],
  ])('%s', (_, headers, host, isSecure) => {
    expect(senderOf(1, headers, '10.0.0.1')).toMatchObject({ host, isSecure })
  })

  it('the host and the protocol decide about the cookie, the own origin and the own name', async () => {
    await using bed = await serviceBed({ settings: { trustProxy: NETWORKS, hosts: ['a.example'] } })
    const lock = async (remoteAddress: string) => {
      const headers = { ...direct, origin: 'https://a.example' }
      const request = new Request(`http://inside:4321/api/documents/1/lock`, { method: 'POST', headers })
      const response = await bed.server.fetch(request, { incoming: { headers, socket: { remoteAddress } } })
      return [response.status, response.headers.get('set-cookie')?.includes('Secure')]
    }
    expect(await lock('10.0.0.1')).toEqual([200, true])
    expect(await lock('11.0.0.1')).toEqual([421, undefined])
  })
})

describe('the limit of requests', () => {
  const ask = async (
    fetch: (request: Request, env?: object) => Response | Promise<Response>,
    headers: Headers,
    env?: object,
  ) => fetch(new Request(`${ORIGIN}/api/documents/room-1/lock`, { headers }), env)

  it('the limit of requests counts addresses, and IPv6 addresses by their network', async () => {
    await using bed = await serviceBed({ settings: { trustProxy: 1, rate: 1, burst: 1 } })
    const statusOf = async (address: string) =>
      (
        await ask(
          bed.server.fetch,
          { 'X-Forwarded-For': address },
          { incoming: { socket: { remoteAddress: 'p' } } },
        )
      ).status
    expect(await statusOf('1.1.1.1')).toBe(200)
    expect(await statusOf('1.1.1.1')).toBe(429)
    expect(await statusOf('2001:db8::1')).toBe(200)
    expect(await statusOf('2001:db8::2')).toBe(429)
    expect(await statusOf('2001:db8:0:1::2')).toBe(200)
  })

  it('the limit of requests counts whom clientOf names, whatever the cookie is', async () => {
    const clientOf = (_: Request, env: unknown) => Object(env).ip
    await using bed = await serviceBed({ clientOf, settings: { rate: 1, burst: 1 } })
    const statusOf = async (ip: string, Cookie = '') =>
      (await ask(bed.server.fetch, { Cookie }, { ip })).status
    expect(await statusOf('1.1.1.1')).toBe(200)
    expect(await statusOf('1.1.1.1', 'holdfast_session=random')).toBe(429)
    expect(await statusOf('2.2.2.2')).toBe(200)
  })

  it('the limit of requests without addresses counts sessions: a stranger stops no session, and an invented cookie is none', async () => {
    const lines: unknown[] = []
    const log = (level: string, message: string) => level === 'warn' && lines.push(message)
    await using bed = await serviceBed({ log, settings: { rate: 1, burst: 3 } })
    const user = bed.browser()
    expect((await user.call('GET', '/api/documents/room-1/lock')).status).toBe(200)
    const statuses: number[] = []
    for (let n = 0; n < 5; n++)
      statuses.push((await ask(bed.server.fetch, { Cookie: `holdfast_session=${n}.abc.def` })).status)
    expect(statuses).toEqual([200, 200, 429, 429, 429])
    for (const status of [200, 200, 200, 429])
      expect((await user.call('GET', '/api/documents/room-1/lock')).status).toBe(status)
    expect(lines).toEqual(['addresses'])
  })

  it('the limit of requests without addresses counts whom identify names, and those whom it does not know together', async () => {
    const identify = (request: Request) => {
      const id = request.headers.get('x-user')
      return id === null ? null : { id }
    }
    await using bed = await serviceBed({ identify, settings: { rate: 1, burst: 1 } })
    const statusOf = async (headers: Headers) => (await ask(bed.server.fetch, headers)).status
    expect(await statusOf({})).toBe(401)
    expect(await statusOf({})).toBe(429)
    expect(await statusOf({ 'X-User': 'ann' })).toBe(200)
    expect(await statusOf({ 'X-User': 'ann' })).toBe(429)
    expect(await statusOf({ 'X-User': 'ben' })).toBe(200)
  })

  it('a clientOf that throws is logged, and refuses nobody', async () => {
    const lines: string[] = []
    const clientOf = () => {
      throw new Error('no address')
    }
    await using bed = await serviceBed({ clientOf, log: (_, message) => lines.push(message) })
    expect((await bed.browser().call('GET', '/api/documents/room-1/lock')).status).toBe(200)
    expect(lines).toContain('clientOf')
  })
})

describe('the path below which a client sees the service', () => {
  const prefixOf = (header: string, trustProxy: unknown = 1) =>
    senderOf(trustProxy, { 'x-forwarded-prefix': header }, '10.0.0.1').prefix

  it('the path below which a client sees the service is what a trusted proxy has written', () => {
    expect(prefixOf('/locks')).toBe('/locks')
    expect(prefixOf('/team-1/locks/')).toBe('/team-1/locks')
    expect(prefixOf('/invented, /locks')).toBe('/locks')
    expect(prefixOf('/locks', NETWORKS)).toBe('/locks')
    expect(prefixOf('/locks', false)).toBe('')
    expect(prefixOf('/locks', '192.168.0.0/16')).toBe('')
  })

  it.each([
    '',
    '/',
    'locks',
    '//other.test',
    '/a//b',
    '/..',
    '/a/../b',
    '/./a',
    '/a;b',
    '/a b',
    '/a%2fb',
    `/${'a'.repeat(200)}`,
  ])('the path below which a client sees the service is the root if the header is %j', (header) => {
    expect(prefixOf(header)).toBe('')
  })

  it('the path below which a client sees the service is the path of the cookie', async () => {
    await using bed = await serviceBed({ settings: { trustProxy: 1 } })
    const headers = { 'X-Forwarded-Prefix': '/locks', Origin: ORIGIN }
    const { headers: answered } = await bed
      .browser()
      .call('GET', '/api/documents/1/lock', undefined, { headers })
    expect(answered.get('set-cookie')).toContain('; Path=/locks; ')
  })
})
