/** Sends calls to a service and compares every answer with its OpenAPI document. */
import { createHash, createHmac } from 'node:crypto'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { systemClock } from '../../../src/base/clock.ts'
import { createLockServer, type LockServerOptions } from '../../../src/server/index.ts'
import { prometheusMeter } from '../../../src/server/node/index.ts'
import { ADMIN_TOKEN, LEASE_TOKEN, ORIGIN, SECRETS } from '../service-bed.ts'
import { type Call, type FromState, type OpenApi, type Operation, operationsOf } from './operations.ts'

export interface Contract extends AsyncDisposable {
  readonly operations: readonly Operation[]
  /** Sends the call. Returns what differs from the document. */
  send(call: Call): Promise<string[]>
  /** Operation and status of every answer. */
  readonly answered: ReadonlyMap<string, number>
}

/** A time that nothing else takes. Nobody answers, so it passes at once. */
const ANSWER_WITHIN_MS = 1001

/** Valid calls that the service may refuse with 400 all the same, because a schema cannot say it. */
const REFUSED_THOUGH_VALID = new Set([
  'share_unsupported', // the backend has no share
  'no_queue', // the backend keeps no queue
  'invalid_channel', // not every channel has members
  'invalid_room', // limits count bytes
  'invalid_argument', // the same
])

/** A parameter that needs another one. */
const NEEDS_TOGETHER = /^sequence: expected token, too$/

export async function openContract(
  options: Pick<LockServerOptions, 'store' | 'documents' | 'audit'>,
): Promise<Contract> {
  const server = await createLockServer({
    ...options,
    clock: {
      ...systemClock,
      setTimer: (run, ms, ...more) => systemClock.setTimer(run, ms === ANSWER_WITHIN_MS ? 1 : ms, ...more),
    },
    log: () => {},
    onTelemetry: () => {},
    meter: prometheusMeter(),
    settings: { ...SECRETS, rate: 0, grace: 0, answerWithin: ANSWER_WITHIN_MS, acceptTelemetry: true },
  })
  const senders = [
    new Sender('session'),
    new Sender('session'),
    new Sender(LEASE_TOKEN),
    new Sender(ADMIN_TOKEN),
  ]
  const document = (await (await server.fetch(new Request(`${ORIGIN}/openapi.json`))).json()) as OpenApi
  const operations = operationsOf(document)
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]))
  const learned = new Map<string, unknown[]>()
  const answered = new Map<string, number>()
  const schemas = new Schemas()

  const resolve = (value: unknown, about: string): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if ('state' in value && 'at' in value) {
      const { state, at } = value as FromState
      return learned.get(`${state} ${about}`)?.at(-1 - at) ?? UNKNOWN[state]
    }
    if (Array.isArray(value)) return value.map((each) => resolve(each, about))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, about)]))
  }
  const learn = (about: string, response: Response, body: unknown) => {
    const { token, lease, request } = Object(body)
    const found = {
      token: token ?? Object(lease).token,
      request: Object(request).request_id,
      etag: response.headers.get('etag'),
    }
    for (const [state, value] of Object.entries(found))
      if (value != null)
        learned.set(`${state} ${about}`, [...(learned.get(`${state} ${about}`) ?? []), value])
  }

  return {
    operations,
    answered,
    async send(call) {
      const operation = byId.get(call.operation)
      if (!operation) return [`${call.operation}: no such operation`]
      const about = aboutOf(call)
      const sender = senders[call.sender] ?? new Sender('session')
      const request = sender.request(operation, {
        ...call,
        headers: resolve(call.headers, about) as Record<string, string>,
        body: resolve(call.body, about),
      })
      const response = await server.fetch(request)
      sender.receive(response)
      const text = await response.text()
      const [contentType = ''] = (response.headers.get('content-type') ?? '').split(';')
      const body = contentType === 'application/json' && text !== '' ? JSON.parse(text) : text
      learn(about, response, body)
      const { status } = response
      const key = `${call.operation} ${status}`
      answered.set(key, (answered.get(key) ?? 0) + 1)
      const where = `${operation.method} ${operation.path} ${status}`
      return [...mismatches(operation, response, text, body, schemas), ...verdict(call, status, body)].map(
        (problem) => `${where}: ${problem}`,
      )
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** What a call uses before the service has answered one. */
const UNKNOWN: Readonly<Record<FromState['state'], unknown>> = { token: 1, request: 'none', etag: '"0"' }

/** The room or resource that the call names. */
function aboutOf({ path, query }: Call): string {
  return Object.values(path)[0] ?? query.find(([name]) => name === 'resource')?.[1] ?? ''
}

/** Whether the service accepted what the document does not allow, or the other way round. */
function verdict({ isValid }: Call, status: number, body: unknown): string[] {
  const { error, message } = Object(body)
  if (!isValid && status < 400) return ['accepted a request that the document does not allow']
  if (isValid && status === 400 && !REFUSED_THOUGH_VALID.has(error) && !NEEDS_TOGETHER.test(message))
    return [`refused a request that the document allows: ${error}: ${message}`]
  return []
}

function mismatches(
  { responses }: Operation,
  response: Response,
  text: string,
  body: unknown,
  schemas: Schemas,
): string[] {
  const { status, headers } = response
  if (status >= 500) return [`failed: ${text}`]
  const declared = responses[status] ?? (status >= 400 ? responses['default'] : undefined)
  if (!declared) return ['this status is not declared']
  const found: string[] = []
  for (const [name, { required }] of Object.entries(declared.headers ?? {}))
    if (required && !headers.has(name)) found.push(`the header ${name} is missing`)
  if (headers.has('etag') && !declared.headers?.['ETag']) found.push('the header ETag is not declared')
  const { content } = declared
  if (!content) return text === '' ? found : [...found, `has a body that is not declared: ${text}`]
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  const media = content[type]
  if (!media) return [...found, `the content type ${type} is not declared`]
  if (media.schema) {
    const problem = schemas.problemOf(media.schema, body, status < 400)
    if (problem) found.push(`${problem} in ${text.slice(0, 500)}`)
  }
  return found
}

/** Compiled schemas. Objects of an answer may have no other fields than those that are declared. */
class Schemas {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false })
  readonly #compiled = new Map<object, ValidateFunction>()

  problemOf(schema: object, value: unknown, isClosed: boolean): string | undefined {
    let validate = this.#compiled.get(schema)
    if (!validate) {
      validate = this.#ajv.compile(isClosed ? (closed(schema) as object) : schema)
      this.#compiled.set(schema, validate)
    }
    return validate(value) ? undefined : this.#ajv.errorsText(validate.errors)
  }
}

function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(closed)
  const all = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  const isObject = all['type'] === 'object' && all['properties'] !== undefined
  return isObject && all['additionalProperties'] === undefined ? { ...all, additionalProperties: false } : all
}

/** A browser with its cookies, or a program with a token. */
class Sender {
  readonly #token: string
  #cookie: string | undefined

  constructor(token: string) {
    this.#token = token
  }

  request(
    { method, path, requestBody, parameters }: Operation,
    call: Omit<Call, 'isValid' | 'operation' | 'sender'>,
  ): Request {
    const target = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(call.path[name] ?? ''))
    const query = new URLSearchParams(call.query.map(([name, value]) => [name, value]))
    const body = requestBody && call.body !== undefined ? JSON.stringify(call.body) : undefined
    if (path.startsWith('/apps/')) sign(query, method, target, body)
    const headers = new Headers({ Host: new URL(ORIGIN).host })
    const isSession = this.#token === 'session'
    if (isSession) headers.set('Origin', ORIGIN)
    else headers.set('Authorization', `Bearer ${this.#token}`)
    if (this.#cookie !== undefined) headers.set('Cookie', this.#cookie)
    if (body !== undefined) headers.set('Content-Type', 'application/json')
    for (const { name, in: place } of parameters)
      if (place === 'header' && call.headers[name] !== undefined)
        headers.set(name, String(call.headers[name]))
    const search = query.size > 0 ? `?${query}` : ''
    return new Request(`${ORIGIN}${target}${search}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    })
  }

  receive(response: Response): void {
    const cookie = response.headers.get('set-cookie')?.split(';')[0]
    if (cookie && this.#token === 'session') this.#cookie = cookie
  }
}

/** Signs a request as a backend of the Pusher protocol does. */
function sign(query: URLSearchParams, method: string, path: string, body: string | undefined): void {
  query.set('auth_key', 'holdfast')
  query.set('auth_timestamp', String(Math.floor(Date.now() / 1000)))
  query.set('auth_version', '1.0')
  if (body !== undefined) query.set('body_md5', createHash('md5').update(body).digest('hex'))
  const signed = [...query].map(([name, value]) => `${name.toLowerCase()}=${value}`).toSorted()
  const text = [method, path, signed.join('&')].join('\n')
  query.set('auth_signature', createHmac('sha256', SECRETS.channelSecret).update(text).digest('hex'))
}
