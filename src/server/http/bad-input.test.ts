import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import {
  ADMIN_TOKEN,
  type Browser,
  LEASE_TOKEN,
  ORIGIN,
  type ServiceBed,
  serviceBed,
} from '../../../test/server/service-bed.ts'
import { flawOf } from './body.ts'

const DOCUMENT = '/api/documents/room-1'
const LOCK = `${DOCUMENT}/lock`

let bed: ServiceBed
let user: Browser
beforeEach(async () => {
  bed = await serviceBed({ onTelemetry: () => {}, settings: { acceptTelemetry: true } })
  user = bed.browser()
})
afterEach(() => bed[Symbol.asyncDispose]())

/** A document with arrays in each other, `depth` levels deep. */
function nested(arrays: number): string {
  return `{"content":${'['.repeat(arrays)}"]"${']'.repeat(arrays)},"token":1}`
}

/** A document with this JSON in its content. */
function numbered(json: string): string {
  return `{"content":["a\\"1e400",${json}],"token":1}`
}

const NOT_UTF8 = new Blob(['{"content":"', new Uint8Array([0xff]), '","token":1}'])

const BAD: readonly (readonly [
  title: string,
  call: readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>],
  status: number,
  error: string,
])[] = [
  ['a room that is too long', ['POST', `/api/documents/${'x'.repeat(201)}/lock`], 400, 'invalid_room'],
  ['a room with control characters', ['POST', '/api/documents/a%00b/lock'], 400, 'invalid_room'],
  ['a room that reverses its text', ['POST', '/api/documents/a%E2%80%AEb/lock'], 400, 'invalid_room'],
  ['a name that reverses its text', ['POST', LOCK, { name: 'txt.\u202ebat' }], 400, 'invalid_body'],
  ['a name that isolates its text', ['POST', LOCK, { name: 'a\u2066b' }], 400, 'invalid_body'],
  ['a room with broken UTF-8', ['POST', '/api/documents/%ff/lock'], 400, 'invalid_room'],
  ['a room with a percent sign alone', ['GET', '/api/documents/100%/lock'], 400, 'invalid_room'],
  ['a room whose name has percent signs', ['GET', '/api/documents/%25ff/lock?about=%ff'], 200, ''],
  ['a room that a path cannot name', ['POST', '/api/documents/locks', { rooms: ['.'] }], 400, 'invalid_room'],
  ['a room that is a path', ['GET', '/api/documents/../lock'], 404, 'not_found'],
  [
    'a megabyte for a lock',
    ['POST', LOCK, 'x'.repeat(1_000_000), { 'Content-Length': '1000000' }],
    413,
    'body_too_large',
  ],
  ['a megabyte without its length', ['POST', LOCK, 'x'.repeat(1_000_000)], 413, 'body_too_large'],
  ['more than a megabyte for a document', ['PUT', DOCUMENT, 'x'.repeat(1_100_000)], 413, 'body_too_large'],
  ['broken JSON', ['PUT', DOCUMENT, '{"content":'], 400, 'invalid_json'],
  ['JSON that is nested deeply', ['PUT', DOCUMENT, nested(4400)], 400, 'body_too_deep'],
  ['JSON that is nested one level too deeply', ['PUT', DOCUMENT, nested(100)], 400, 'body_too_deep'],
  ['JSON that is nested as deeply as allowed', ['PUT', DOCUMENT, nested(99)], 409, 'stale_token'],
  ['deep JSON for a lock', ['POST', LOCK, '['.repeat(8000)], 400, 'body_too_deep'],
  ['a number that is too large', ['PUT', DOCUMENT, numbered('1e400')], 400, 'inexact_number'],
  ['a number that would become 0', ['PUT', DOCUMENT, numbered('-1e-400')], 400, 'inexact_number'],
  [
    'an integer that would be rounded',
    ['PUT', DOCUMENT, numbered('9007199254740993')],
    400,
    'inexact_number',
  ],
  [
    'a fraction with more digits than a double has',
    ['PUT', DOCUMENT, numbered('3.141592653589793238')],
    400,
    'inexact_number',
  ],
  [
    'a number of a megabyte',
    ['PUT', DOCUMENT, numbered(`${'1'.padEnd(900_000, '0')}1`)],
    400,
    'inexact_number',
  ],
  [
    'a large integer that a double holds',
    ['PUT', DOCUMENT, numbered('9007199254740992')],
    409,
    'stale_token',
  ],
  [
    'a fraction that C writes for 0.1',
    ['PUT', DOCUMENT, numbered('0.10000000000000001')],
    409,
    'stale_token',
  ],
  ['digits in a text', ['PUT', DOCUMENT, numbered('"9007199254740993"')], 409, 'stale_token'],
  ['a form that is not UTF-8', ['POST', '/broadcasting/auth', NOT_UTF8], 400, 'invalid_body'],
  ['JSON that is not UTF-8', ['PUT', DOCUMENT, NOT_UTF8], 400, 'invalid_body'],
  [
    'JSON that is not UTF-8, with its length',
    ['PUT', DOCUMENT, NOT_UTF8, { 'Content-Length': String(NOT_UTF8.size) }],
    400,
    'invalid_body',
  ],
  ['JSON of another kind', ['PUT', DOCUMENT, '[]'], 400, 'invalid_body'],
  ['a token that is text', ['PUT', DOCUMENT, { content: '', token: '1' }], 400, 'invalid_body'],
  ['a token that is not an integer', ['PUT', DOCUMENT, { content: '', token: 1.5 }], 400, 'invalid_body'],
  ['no content', ['PUT', DOCUMENT, { token: 1 }], 400, 'invalid_body'],
  ['a name with control characters', ['POST', LOCK, { name: 'a\nb' }], 400, 'invalid_body'],
  ['a wait that is not a number', ['POST', `${LOCK}?wait=soon`], 400, 'invalid_query'],
  ['a wait in scientific notation', ['POST', `${LOCK}?wait=1e9`], 400, 'invalid_query'],
  ['a wait that is given twice', ['POST', `${LOCK}?wait=1&wait=2`], 400, 'invalid_query'],
  [
    'a prefix with NUL',
    ['GET', '/api/locks?prefix=a%00b', undefined, { Authorization: `Bearer ${ADMIN_TOKEN}` }],
    400,
    'invalid_query',
  ],
  ['a wait that is not UTF-8', ['POST', `${LOCK}?wait=%ff`], 400, 'invalid_query'],
  [
    'a compressed body',
    ['PUT', DOCUMENT, { content: 1, token: 1 }, { 'Content-Encoding': 'gzip' }],
    415,
    'unsupported_encoding',
  ],
  ['an array for an object', ['POST', LOCK, '[]'], 400, 'invalid_body'],
  ['an invalid client id', ['POST', LOCK, undefined, { 'X-Holdfast-Client': 'a b' }], 400, 'invalid_client'],
  [
    'a page of another origin',
    ['POST', LOCK, undefined, { Origin: 'https://evil.test' }],
    403,
    'origin_not_allowed',
  ],
  ['an opaque origin', ['DELETE', LOCK, undefined, { Origin: 'null' }], 403, 'origin_not_allowed'],
  [
    'a beacon of another origin',
    ['POST', `${LOCK}/release`, '{"token":1}', { Origin: 'https://evil.test' }],
    403,
    'origin_not_allowed',
  ],
  [
    'an unknown token',
    ['GET', '/api/audit', undefined, { Authorization: 'Bearer nonsense' }],
    401,
    'unauthenticated',
  ],
  ['a channel without a name', ['POST', '/broadcasting/auth', 'socket_id=1.2'], 400, 'invalid_body'],
  [
    'an invalid socket id',
    ['POST', '/broadcasting/auth', 'socket_id=x&channel_name=private-document.a'],
    400,
    'invalid_body',
  ],
  [
    'too much telemetry',
    ['POST', '/telemetry', { events: Array.from({ length: 501 }, () => ({ type: 'x' })) }],
    400,
    'invalid_body',
  ],
  ['telemetry without types', ['POST', '/telemetry', { events: [{}] }], 400, 'invalid_body'],
  ['an unknown method', ['PATCH', LOCK], 405, 'method_not_allowed'],
]

/** What the message of a refusal tells the reader to do. */
const REMEDIES: readonly (readonly [title: string, who: string, path: string, message: string])[] = [
  [
    'an unknown token',
    'nonsense',
    '/api/audit',
    'does not know this token; send one of its leaseTokens or adminTokens',
  ],
  ['a token of another role', LEASE_TOKEN, '/api/audit', 'it takes one of the adminTokens of the server'],
  ['no token', '', '/api/leases', 'it takes one of the leaseTokens of the server'],
  ['no token for names', '', '/api/leases?resource=job', 'it takes one of the leaseTokens of the server'],
]

describe('bad input', () => {
  it.each(BAD)('%s', async (_, [method, path, body, headers], status, error) => {
    const answer = await user.call(method, path, body, headers && { headers })
    expect([answer.status, answer.body.error ?? '']).toEqual([status, error])
    if (status >= 400) expect(answer.body.message).toEqual(expect.any(String))
  })

  it.each(REMEDIES)('%s gets a message that says what to send', async (_, token, path, message) => {
    const sender = token === '' ? user : bed.program(token)
    expect((await sender.call('GET', path)).body.message).toContain(message)
  })

  it.each([
    ['http://127.0.0.1:5199', "pages of http://127.0.0.1:5199 may not call; add it to the server's origins"],
    [`https://${'x'.repeat(63)}.example.com`, /^pages of https:\/\/x{63}\.example\.com may not call; add/],
    ['null', 'pages of this origin may not call'],
    ['https://a.test"<script>', 'pages of this origin may not call'],
    ['https://é.test', 'pages of this origin may not call'],
    [`https://${'x'.repeat(1000)}`, 'pages of this origin may not call'],
  ])(
    'bad input from a page of %s gets a message with the origin, if it is well-formed',
    async (origin, message) => {
      const { body } = await user.call('POST', LOCK, undefined, { headers: { Origin: origin } })
      expect(body.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message))
    },
  )

  it('bad input from another site without an origin is refused by its Sec-Fetch-Site header', async () => {
    const program = bed.program('not-a-token')
    // Credentials that are for a proxy are ignored.
    const byProxy = { Authorization: 'Basic eDp5' }
    const crossSite = { ...byProxy, 'Sec-Fetch-Site': 'cross-site' }
    const refused = await program.call('POST', LOCK, undefined, { headers: crossSite })
    expect(refused.body.error).toBe('origin_not_allowed')
    expect((await program.call('POST', LOCK, undefined, { headers: byProxy })).status).toBe(200)
  })

  it('bad input that comes too often is answered with 429 and Retry-After', async () => {
    await using narrow = await serviceBed({ settings: { rate: 10, burst: 5 } })
    const browser = narrow.browser()
    const answers = await Promise.all(Array.from({ length: 8 }, () => browser.call('GET', LOCK)))
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3)
    expect(answers.at(-1)?.headers.get('retry-after')).toBe('1')
    await narrow.clock.advance(100)
    expect((await browser.call('GET', LOCK)).status).toBe(200)
  })

  it.each(['/openapi.json', '/metrics', '/readyz'])('bad input to %s is limited too', async (path) => {
    await using narrow = await serviceBed({ settings: { rate: 10, burst: 5 } })
    const answers = await Promise.all(Array.from({ length: 8 }, () => narrow.browser().call('GET', path)))
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3)
    expect((await narrow.browser().call('GET', '/healthz')).status).toBe(200)
  })

  it('bad input never gets a secret in the answer: neither the session nor the id of a lease', async () => {
    await user.call('POST', LOCK)
    const [id = ''] = user.cookie?.split('=')[1]?.split('.') ?? []
    const [[lease] = []] = await bed.store.read(['document:room-1'])
    const admin = bed.program(ADMIN_TOKEN)
    const shown = await Promise.all([
      bed.browser().call('POST', LOCK),
      bed.browser().call('GET', LOCK),
      admin.call('GET', '/api/locks'),
      admin.call('GET', '/api/audit'),
    ])
    const text = JSON.stringify(shown.map(({ body }) => body))
    for (const secret of [id, lease?.id ?? 'none']) expect(text).not.toContain(secret)
  })

  it('bad input of any shape gets a documented answer from every route, and the service still works', async () => {
    const { paths } = (await user.call('GET', '/openapi.json')).body as unknown as {
      paths: Record<string, object>
    }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    )
    const admin = bed.program(ADMIN_TOKEN)
    await checkProperty(
      fc.asyncProperty(
        fc.constantFrom(...operations),
        fc.string({ minLength: 1, unit: 'binary' }),
        fc.oneof(fc.json(), fc.string(), fc.constant(undefined)),
        fc.string({ unit: 'binary' }),
        fc.boolean(),
        async ({ method, path }, name, body, query, isAdmin) => {
          const target = path.replace(/\{\w+\}/, encodeURIComponent(name.toWellFormed()))
          const search = query === '' ? '' : `?resource=${encodeURIComponent(query.toWellFormed())}`
          const sender = isAdmin ? admin : user
          const answer = await sender.call(method, target + search, method === 'GET' ? undefined : body)
          expect(answer.status).toBeLessThan(500)
          if (answer.status >= 400) expect(answer.body).toMatchObject({ error: expect.any(String) })
        },
      ),
      { numRuns: 600 },
    )
    expect((await user.call('POST', LOCK)).status).toBe(200)
  })
})

describe('pages of another origin that the settings name', () => {
  it('pages of another origin that the settings name may call with their cookies', async () => {
    const origin = 'https://app.example.com'
    await using open = await serviceBed({ settings: { origins: [origin], headers: 'X-Tenant' } })
    const page = open.browser()
    const headers = { Origin: origin }
    const preflight = await page.call('OPTIONS', LOCK, undefined, { headers })
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(
      /X-CSRF-TOKEN, X-XSRF-TOKEN, X-Socket-ID, X-Requested-With, X-Tenant$/,
    )
    const answer = await page.call('POST', LOCK, undefined, { headers })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
    expect(answer.headers.get('access-control-allow-credentials')).toBe('true')
    const stranger = await page.call('GET', LOCK, undefined, { headers: { Origin: 'https://evil.test' } })
    expect(stranger.headers.get('access-control-allow-origin')).toBeNull()
    expect((await page.call('GET', LOCK, undefined, { headers: { Origin: ORIGIN } })).status).toBe(200)
  })
})

describe('the numbers of JSON', () => {
  it('the numbers of JSON that a program writes from doubles are accepted, in any notation', () => {
    checkProperty(
      fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (double) => {
        for (const text of [String(double), double.toExponential(), double.toPrecision(17)])
          expect([text, flawOf(`[${text}]`, 1)]).toEqual([text, null])
      }),
      { numRuns: 2000 },
    )
  })

  it('the numbers of JSON that would come back with another value are found', () => {
    checkProperty(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        const isKept = BigInt(Number(integer)) === integer
        // A text such as 1e+21 stands for the same integer.
        const isWritten = BigInt(Number(integer).toLocaleString('en', { useGrouping: false })) === integer
        expect(flawOf(`${integer}`, 1)).toEqual(isKept && isWritten ? null : { number: `${integer}` })
      }),
      { numRuns: 2000 },
    )
  })
})

describe('the depth of JSON', () => {
  it('the depth of JSON is that of its arrays and objects, whatever its texts contain', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
    const texts = fc.string({ unit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a') })
    const values = fc.anything({ values: [texts], key: texts, maxDepth: 6 })
    checkProperty(
      fc.property(values, fc.nat(6), (value, max) => {
        expect(flawOf(JSON.stringify(value), max)).toBe(depthOf(value) > max ? 'too deep' : null)
      }),
      { numRuns: 2000 },
    )
  })
})
