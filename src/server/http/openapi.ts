import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import type { Settings } from '../../configuration/settings.ts'
import { errorBody } from '../../protocol/index.ts'
import type { Route } from './route.ts'

type JsonSchema = { readonly [key: string]: unknown }

/** The document of `GET /openapi.json`, made from the same table as the router. */
export function openApi(routes: readonly Route[], { cookieName }: Pick<Settings, 'cookieName'>): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const route of routes) {
    const operations = paths[route.path] ?? {}
    paths[route.path] = operations
    operations[route.method.toLowerCase()] = operation(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Holdfast', version: '1', description: 'Document locks and leases over HTTP.' },
    paths,
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: cookieName },
        token: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

function operation({ id, summary, path, query = {}, body, form, answers, action }: Route): JsonSchema {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query).map(([name, { schema, description }]) => ({
    name,
    in: 'query',
    required: false,
    schema,
    description,
  }))
  return {
    operationId: id,
    summary,
    ...(action !== null && { security: [{ session: [] }, { token: [] }] }),
    parameters: [...inPath, ...inQuery],
    ...(body && { requestBody: requestBody(body, form) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, schema]) => [
          status,
          {
            description: Number(status) < 400 ? 'Done.' : 'Refused.',
            content: schema ? json(schemaOf(schema)) : { 'text/plain': {} },
          },
        ]),
      ),
      default: { description: 'Refused, with a stable `error`.', content: json(schemaOf(errorBody)) },
    },
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

/** Without `$schema`: OpenAPI 3.1 itself says which JSON Schema it uses. */
function schemaOf(schema: v.GenericSchema): JsonSchema {
  const { $schema: _, ...converted } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    // The converter refuses all flags, but JSON Schema reads every pattern as if it had the flag `u`.
    overrideAction: ({ valibotAction, jsonSchema }) =>
      isUnicodePattern(valibotAction) ? { ...jsonSchema, pattern: valibotAction.requirement.source } : null,
  })
  return converted
}

function isUnicodePattern(action: object): action is { readonly requirement: RegExp } {
  const { type, requirement } = action as { readonly type?: string; readonly requirement?: unknown }
  return type === 'regex' && requirement instanceof RegExp && requirement.flags === 'u'
}
