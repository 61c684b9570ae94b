import { expect, it } from 'vitest'
import type { Service } from '../service.ts'
import { allRoutes } from './app.ts'
import { openApi } from './openapi.ts'

const SETTINGS = { cookieName: 'sid', maxRoomBytes: 200 }
const document = openApi(allRoutes({ settings: SETTINGS } as Service), SETTINGS)
const { paths } = document as unknown as Record<'paths', Record<string, Record<string, Operation>>>

interface Operation {
  readonly parameters: readonly {
    readonly name: string
    readonly required: boolean
    readonly schema: object
  }[]
  readonly requestBody: Content
  readonly responses: Readonly<Record<string, Content>>
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: object }>>
}

const JSON_TYPE = 'application/json'
const bodyOf = (path: string, method = 'post') =>
  paths[path]?.[method]?.requestBody.content[JSON_TYPE]?.schema
const answerOf = (path: string, method: string, status: number) =>
  paths[path]?.[method]?.responses[status]?.content[JSON_TYPE]?.schema

it('the document describes fields as JSON Schema, with their limits', () => {
  expect(bodyOf('/api/leases/{resource}')).toEqual({
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, maxLength: 512, pattern: '^[^\\0\\p{Cs}]*$' },
      owner: { type: 'string', minLength: 1, maxLength: 512, pattern: '^[^\\0\\p{Cs}]*$' },
      ttl: { type: 'integer', minimum: 10, maximum: 86_400_000 },
      metadata: { type: 'object', additionalProperties: {}, propertyNames: { type: 'string' } },
      wait: { type: 'boolean' },
      client: { type: 'string', pattern: '^[\\w-]{1,64}$' },
      share: {
        anyOf: [{ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, { const: 'unlimited' }],
      },
      atLeast: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
      lockDelay: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
      replace: {
        anyOf: [{ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, { const: 'any' }],
      },
    },
    required: ['id', 'owner', 'ttl'],
  })
})

it('the document keeps patterns with the flag u, which is how JSON Schema reads every pattern', () => {
  expect(bodyOf('/api/documents/{roomId}/lock')).toMatchObject({
    properties: { name: { pattern: '^[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Bidi_Control}]{1,80}$' } },
    required: [],
  })
})

it('the document limits the number of events, not the length of a text', () => {
  expect(bodyOf('/telemetry')).toMatchObject({
    properties: { events: { type: 'array', maxItems: 500, items: { type: 'object', required: ['type'] } } },
  })
})

it('the document describes constants, choices, alternatives and null', () => {
  expect(answerOf('/api/documents/{roomId}/lock', 'get', 200)).toMatchObject({
    anyOf: [
      { properties: { is_locked: { const: false } } },
      { properties: { is_locked: { const: true } }, required: expect.arrayContaining(['holder', 'token']) },
    ],
  })
  expect(answerOf('/api/leases/{resource}', 'delete', 200)).toMatchObject({
    properties: {
      ended: {
        anyOf: [
          { properties: { state: { enum: ['held', 'kept', 'released', 'expired', 'taken-over'] } } },
          { type: 'null' },
        ],
      },
      holders: { type: 'array' },
    },
    required: ['ended', 'holder', 'holders'],
  })
})

it('the document declares headers, repeated and required parameters', () => {
  const parametersOf = (path: string, method: string) =>
    Object.fromEntries(
      (paths[path]?.[method]?.parameters ?? []).map(({ name, required, schema }) => [
        name,
        { required, schema },
      ]),
    )
  expect(parametersOf('/api/documents/{roomId}', 'put')).toMatchObject({
    'X-Holdfast-Client': { required: false },
    'If-Match': { required: false },
    'If-None-Match': { required: false },
  })
  expect(parametersOf('/api/leases', 'put')).toMatchObject({ resource: { required: true } })
  expect(parametersOf('/api/leases', 'get')).toMatchObject({
    resource: { required: false, schema: { type: 'array', items: { type: 'string' } } },
  })
  expect(paths['/api/documents/{roomId}']?.['put']?.responses['412']).toMatchObject({
    headers: { ETag: { required: true } },
  })
})

it('the document names the codes of errors by their status', () => {
  expect(answerOf('/api/documents/{roomId}/lock', 'put', 404)).toMatchObject({
    properties: { error: { enum: expect.arrayContaining(['lock_not_found']) } },
  })
  expect(JSON.stringify(answerOf('/api/documents/{roomId}/lock', 'put', 404))).not.toContain('stale_token')
  expect(answerOf('/api/documents/{roomId}', 'put', 412)).toMatchObject({
    required: ['error', 'message', 'revision'],
  })
})

it('no schema of the document names its own version of JSON Schema', () => {
  expect(JSON.stringify(document)).not.toContain('$schema')
})
