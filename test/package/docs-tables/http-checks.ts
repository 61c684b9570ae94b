import { HTTP_ERRORS } from '../../../src/server/http/error-codes.ts'
import { createLockServer } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { code, type ExpectedCell, type TableCheck } from './compare-table.ts'

const LEASE_API = /^\/api\/(leases|batch|sweep)/
const PUSHER_API = /^\/apps\//

export const HTTP_CHECKS: readonly TableCheck[] = [
  {
    table: 'docs/server.md#HTTP',
    about: 'the call',
    nameOf: callOf,
    rows: async () =>
      (await operations())
        .filter(({ path }) => !LEASE_API.test(path) && !PUSHER_API.test(path))
        .map(({ call, operation }) => [call, answersCell(operation)]),
  },
  {
    table: 'docs/server.md#The lease API',
    about: 'the call',
    nameOf: callOf,
    rows: async () =>
      (await operations())
        .filter(({ path }) => LEASE_API.test(path))
        .map(({ call, operation: { requestBody, responses } }) => [
          call,
          { means: requestBody ? fieldsOf(requestBody).join(' or ') : '', meaning: fieldsIn },
          {
            means: Object.entries(responses)
              .filter(([status]) => status !== 'default')
              .map(([status, answer]) => `${status} ${fieldsOf(answer)}`)
              .join('; '),
            meaning: answersIn,
          },
        ]),
  },
  {
    table: 'docs/laravel.md#The HTTP API',
    about: 'the call',
    nameOf: callOf,
    rows: async () =>
      (await operations())
        .filter(({ path }) => PUSHER_API.test(path))
        .map(({ call, operation }) => [call, answersCell(operation)]),
  },
  {
    table: 'docs/server.md#HTTP 2',
    about: 'the error',
    isOrdered: true,
    rows: () =>
      Object.entries(HTTP_ERRORS).map(([name, [status, meaning]]) => [code(name), String(status), meaning]),
  },
]

interface Operation {
  readonly requestBody?: Content
  readonly parameters?: readonly { readonly name: string }[]
  readonly responses: Readonly<Record<string, Content>>
}

interface Content {
  readonly content: { readonly 'application/json'?: { readonly schema: Schema } }
}

interface Schema {
  readonly anyOf?: readonly Schema[]
  readonly properties?: object
  readonly required?: readonly string[]
}

async function operations(): Promise<{ call: string; path: string; operation: Operation }[]> {
  await using server = await createLockServer({ store: memoryStore(), log: () => {} })
  const response = await server.fetch(new Request('http://localhost/openapi.json'))
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, Operation>> }
  const described = Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ path, method, operation })),
  )
  return [...described, { path: '/openapi.json', method: 'get', operation: { responses: {} } }].map(
    ({ path, method, operation }) => ({
      call: callOf(`\`${method.toUpperCase()} ${path}\``),
      path,
      operation,
    }),
  )
}

/** `POST …/lock` → `POST /api/documents/{}/lock`. */
function callOf(cell: string): string {
  return cell
    .replaceAll('`', '')
    .replace('…', '/api/documents/{}')
    .replace(/\{\w+\}/g, '{}')
}

/** Each error has its status, and each field in braces belongs to the body or an answer of the call. */
function answersCell(operation: Operation): ExpectedCell {
  const known = JSON.stringify(operation)
  return {
    correct(cell) {
      const errors = cell.matchAll(/(\d{3}) `([a-z]\w*)`/g)
      const wrongErrors = Array.from(errors, ([, status, name = '']) => {
        const [right] = (HTTP_ERRORS as Readonly<Record<string, readonly [number, string]>>)[name] ?? []
        if (right === undefined) return `there is no error ${name}`
        return String(right) === status ? '' : `${name} has the status ${right}`
      })
      const wrongFields = Array.from(cell.matchAll(/`\{ (.*?) \}`/g), ([, fields = '']) => fields)
        .flatMap((fields) => fields.match(/\w+/g) ?? [])
        .map((field) => (known.includes(`"${field}"`) ? '' : `the call has no field ${field}`))
      return [...wrongErrors, ...wrongFields].filter(Boolean).join(', ') || undefined
    },
  }
}

/** One text for each alternative, such as `{ id, ttl, wait? }`. */
function fieldsOf({ content }: Content): string[] {
  const schema = content['application/json']?.schema ?? {}
  return (schema.anyOf ?? [schema]).map(({ properties = {}, required = [] }) => {
    const names = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`))
    return `\`{ ${names.join(', ')} }\``
  })
}

/** The fields in a cell, without what is written beside them. */
function fieldsIn(cell: string): string {
  return Array.from(cell.matchAll(/`\{ .*? \}`/g), ([fields]) => fields).join(' or ')
}

function answersIn(cell: string): string {
  return Array.from(cell.matchAll(/\d{3} `\{ .*? \}`/g), ([answer]) => answer).join('; ')
}
