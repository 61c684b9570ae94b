import { expect, it } from 'vitest'
import { headerPairs, headerValues, keyIn, parsedBody } from './parsed-body.ts'

const JSON_TYPE = { 'content-type': 'application/json', 'content-length': '9' }

it('a parsed body is compared as JSON, whatever its prototype is', async () => {
  const body = Object.assign(Object.create(null), { a: [1] })
  expect(await parsedBody({ headers: JSON_TYPE, readableDidRead: true, body }, 100)).toEqual({ a: [1] })
  for (const each of [[1], null, true, 0])
    expect(await parsedBody({ headers: JSON_TYPE, body: each }, 100)).toEqual(each)
})

it('the bytes of a body are compared if they are there', async () => {
  const payloadOf = (request: object) => parsedBody({ headers: JSON_TYPE, ...request }, 100)
  const expected = await payloadOf({ body: Buffer.from('{"a": 1}') })
  expect(await payloadOf({ body: '{"a": 1}' })).toEqual(expected)
  expect(await payloadOf({ body: { a: 1 }, rawBody: Buffer.from('{"a": 1}') })).toEqual(expected)
  expect(await payloadOf({ body: '{"a":1}' })).not.toEqual(expected)
})

it.each([
  ['by its length', { headers: { 'content-length': '101' }, body: {} }],
  ['by its bytes', { headers: {}, body: 'x'.repeat(101) }],
])('a body above the limit is refused, %s', async (_, request) => {
  await expect(parsedBody(request, 100)).rejects.toMatchObject({ problem: 'idempotency_body_too_large' })
})

it.each([
  ['that no parser has read', { headers: JSON_TYPE, readableDidRead: false, body: {} }],
  ['that no parser has taken', { headers: { 'transfer-encoding': 'chunked' } }],
  ['of HTTP/2 that no parser has taken', { headers: {}, httpVersionMajor: 2 }],
  [
    'whose files are elsewhere',
    { headers: { ...JSON_TYPE, 'content-type': 'Multipart/Form-Data; boundary=x' }, body: { a: 1 } },
  ],
])('a body %s is refused', async (_, request) => {
  await expect(parsedBody(request, 100)).rejects.toMatchObject({ problem: 'idempotency_body_not_read' })
})

it('a request without a body has none to compare', async () => {
  for (const headers of [{}, { 'content-length': '0' }])
    for (const body of [undefined, {}]) expect(await parsedBody({ headers, body }, 100)).toBe(null)
})

it('headers of Node are pairs with names in lower case, and back', () => {
  const pairs = headerPairs({ 'Set-Cookie': ['a=1', 'b=2'], 'X-N': 5, none: undefined })
  expect(pairs).toEqual([
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
    ['x-n', '5'],
  ])
  expect(headerValues(pairs)).toEqual([
    ['set-cookie', ['a=1', 'b=2']],
    ['x-n', '5'],
  ])
  expect([keyIn({}), keyIn({ 'idempotency-key': ['a', 'b'] })]).toEqual([null, 'a,b'])
})
