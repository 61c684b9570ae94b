import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { MAX_NAME_BYTES } from '../../base/options.ts'
import type { Settings } from '../../configuration/settings.ts'
import {
  CLIENT_HEADER,
  errorBody,
  GUEST_HEADER,
  MAX_APP_ID_LENGTH,
  MAX_CHANNEL_LENGTH,
} from '../../protocol/index.ts'
import { HTTP_ERRORS } from './error-codes.ts'
import type { Route } from './route.ts'

type DescribedSettings = Pick<Settings, 'cookieName' | 'maxRoomBytes'>
type JsonSchema = { readonly [key: string]: unknown }

/** The document of `GET /openapi.json`, made from the same table as the router. */
export function openApi(routes: readonly Route[], settings: DescribedSettings): JsonSchema {
  const { cookieName } = settings
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const route of routes) {
    const operations = paths[route.path] ?? {}
    paths[route.path] = operations
    operations[route.method.toLowerCase()] = operation(route, settings)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Holdfast', version: '1', description: 'Document locks and leases over HTTP.' },
    paths,
    components: {
      responses: {
        Refused: {
          description: 'Refused, with a stable `error`.',
          headers: { 'Retry-After': RETRY_AFTER },
          content: json(schemaOf(errorBody)),
        },
      },
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: cookieName,
          description: `With a name in the header \`${GUEST_HEADER}\`: another person of the same browser.`,
        },
        token: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

function operation(route: Route, settings: DescribedSettings): JsonSchema {
  const { id, summary, body, form, answers, action, etag = [] } = route
  const responses = Object.entries(answers).map(([text, schema]) => {
    const status = Number(text)
    return [
      status,
      {
        description: status < 400 ? 'Done.' : 'Refused.',
        ...(etag.includes(status) && { headers: { ETag: ETAG } }),
        ...(status !== 304 && {
          content: schema ? json(schemaOf(schema, status)) : { 'text/plain': { schema: { type: 'string' } } },
        }),
      },
    ]
  })
  return {
    operationId: id,
    summary,
    ...(action !== null && { security: [{ session: [] }, { token: [] }] }),
    parameters: parametersOf(route, settings),
    ...(body && { requestBody: requestBody(body, form) }),
    responses: {
      ...Object.fromEntries(responses),
      default: { $ref: '#/components/responses/Refused' },
    },
  }
}

const ETAG = {
  required: true,
  schema: { type: 'string', pattern: '^"[0-9]+"$' },
  description: 'The revision of the content.',
}
const RETRY_AFTER = {
  schema: { type: 'integer', minimum: 0 },
  description: 'With 429 and 503: the seconds after which to ask again.',
}
const HEADERS: Readonly<Record<NonNullable<Route['headers']>[number], JsonSchema>> = {
  [CLIENT_HEADER]: {
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{0,64}$' },
    description: 'The id of the tab or program. Without it, all tabs of a session are one client.',
  },
  'If-Match': {
    schema: { type: 'string' },
    description:
      'ETags, or `*` for any content: 412 unless the content is at one of them. `"0"`: there is none.',
  },
  'If-None-Match': {
    schema: { type: 'string' },
    description:
      'ETags, or `*` for any content: a read gets 304, and a change 412, if the content is at one of them.',
  },
}

function parametersOf({ path, query = {}, headers = [] }: Route, settings: DescribedSettings): JsonSchema[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...namesInPath(settings)[name],
  }))
  const inQuery = Object.entries(query).map(
    ([name, { schema, description, isRequired = false, isRepeated = false }]) => ({
      name,
      in: 'query',
      required: isRequired,
      schema: isRepeated ? { type: 'array', items: schema } : schema,
      description,
    }),
  )
  const inHeaders = headers.map((name) => ({ name, in: 'header', required: false, ...HEADERS[name] }))
  return [...inPath, ...inQuery, ...inHeaders]
}

/** The limits count bytes of UTF-8, which JSON Schema cannot. */
function namesInPath({ maxRoomBytes }: DescribedSettings): Readonly<Record<string, JsonSchema>> {
  const name = (maxLength: number, description: string) => ({
    schema: { type: 'string', minLength: 1, maxLength },
    description,
  })
  return {
    roomId: name(
      maxRoomBytes,
      `The name of the room: at most ${maxRoomBytes} bytes, and not \`.\` or \`..\`.`,
    ),
    resource: name(MAX_NAME_BYTES, `The name of the resource: at most ${MAX_NAME_BYTES} bytes.`),
    appId: name(MAX_APP_ID_LENGTH, 'The `appId` of the server.'),
    channel: name(MAX_CHANNEL_LENGTH, 'The name of the channel.'),
    user: name(MAX_CHANNEL_LENGTH, 'The public id of the user.'),
  }
}

/** An empty body is an empty object. */
function requestBody(body: v.GenericSchema, isForm = false): JsonSchema {
  const schema = schemaOf(body)
  return {
    required: !v.is(body, {}),
    content: { ...json(schema), ...(isForm && { 'application/x-www-form-urlencoded': { schema } }) },
  }
}

function json(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } }
}

/**
 * Without `$schema`: OpenAPI 3.1 itself says which JSON Schema it uses. `status`: of the answer that it describes,
 * which decides the codes of an error.
 */
function schemaOf(schema: v.GenericSchema, status?: number): JsonSchema {
  const { $schema: _, ...converted } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    overrideSchema({ valibotSchema, jsonSchema }) {
      if (valibotSchema.type !== 'loose_object') return null
      const error = { type: 'string', enum: codesOf(status) } as const
      return {
        ...jsonSchema,
        additionalProperties: true,
        ...(valibotSchema === errorBody && { properties: { ...jsonSchema.properties, error } }),
      }
    },
    // The converter refuses all flags, but JSON Schema reads every pattern as if it had the flag `u`.
    overrideAction: ({ valibotAction, jsonSchema }) =>
      isUnicodePattern(valibotAction) ? { ...jsonSchema, pattern: valibotAction.requirement.source } : null,
  })
  return converted
}

/** The codes of errors with this status, or of all. 499 is only in the log. */
function codesOf(status: number | undefined): string[] {
  return Object.entries(HTTP_ERRORS)
    .filter(([, [of]]) => (status === undefined ? of !== 499 : of === status))
    .map(([code]) => code)
}

function isUnicodePattern(action: object): action is { readonly requirement: RegExp } {
  const { type, requirement } = action as { readonly type?: string; readonly requirement?: unknown }
  return type === 'regex' && requirement instanceof RegExp && requirement.flags === 'u'
}
