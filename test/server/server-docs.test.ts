import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { root } from '../../scripts/run-tool.ts'
import { blocksOfPage } from '../docs/blocks.ts'
import { eventually } from '../eventually.ts'
import { portOf, runExample } from './docs-example.ts'
import { browserAt, joinRoom } from './node-client.ts'
import { serviceBed } from './service-bed.ts'

const JSON_BODY = { headers: { 'Content-Type': 'application/json' } }

const serversOf = (page: string) => blocksOfPage(page).filter(({ role }) => role === 'serve')
const EXAMPLES = [...serversOf('docs/server.md').slice(0, 1), ...serversOf('docs/embedding.md')]

describe('the pages on the server', () => {
  it.each(EXAMPLES)('has an example that serves locks and sockets: %#', async ({ code }) => {
    const [, path = ''] = /path: '(.*)\/app'/.exec(code) ?? []
    const url = `http://127.0.0.1:${await portOf(runExample(code, 0))}${path}`
    const socket = await joinRoom(url, '42')
    const browser = browserAt(url)
    const { status, body } = await browser.call('POST', '/api/documents/42/lock', { name: 'Mika' }, JSON_BODY)
    expect([status, body.you]).toEqual([200, expect.objectContaining({ name: 'Mika' })])
    await eventually(() => expect(socket.heard).toEqual(['document.locked']))
    const form = await browser.call(
      'POST',
      '/broadcasting/auth',
      'socket_id=1.1&channel_name=private-document.42',
      {
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      },
    )
    expect(form.body).toMatchObject({ auth: expect.any(String) })
    socket.close()
  })

  it.each(EXAMPLES.filter(({ code }) => code.includes('attachSockets')))(
    'has an example that leaves the other paths to the host: %#',
    async ({ code }) => {
      const url = `http://127.0.0.1:${await portOf(runExample(code, 0))}`
      const textOf = async (path: string) => (await fetch(url + path)).text()
      expect(await textOf('/hello')).toBe('hello')
      expect(await textOf('/none')).not.toContain('there is nothing here')
    },
  )

  it('has an example beside another WebSocket server', async () => {
    const [example] = EXAMPLES.filter(({ code }) => code.includes('/chat'))
    const port = await portOf(runExample(example?.code ?? '', 0))
    const chat = new WebSocket(`ws://127.0.0.1:${port}/chat`)
    await once(chat, 'open')
    chat.send('hi')
    expect((await once(chat, 'message')).map(String)).toEqual(['echo: hi', 'false'])
    chat.close()
  })

  it('has a table of the lease API that agrees with the OpenAPI document', async () => {
    await using bed = await serviceBed()
    const { paths } = (await bed.browser().call('GET', '/openapi.json')).body as unknown as OpenApi
    const served = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { operationId }]) => /^\w+(Lease|Leases)$/.test(operationId))
        .map(([method, operation]) => [`${method.toUpperCase()} ${path}`, described(operation)]),
    )
    expect(Object.fromEntries(leaseTable())).toEqual(Object.fromEntries(served))
  })
})

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly operationId: string
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

interface Content {
  readonly content: { readonly 'application/json': { readonly schema: Schema } }
}

interface Schema {
  readonly anyOf?: readonly Schema[]
  readonly properties?: object
  readonly required?: readonly string[]
}

/** By operation: the fields of its bodies, and of its answers by status. */
function leaseTable(): [call: string, fields: object][] {
  const page = readFileSync(join(root, 'docs/server.md'), 'utf8')
  const rows = page.matchAll(/^\| `(\w+ \/api\/(?:leases|batch|sweep)[^`]*)` \| (.*?) ?\| (.*) \|$/gm)
  return Array.from(rows, ([, call = '', body = '', answers = '']) => {
    const fields = answers.matchAll(/(\d{3}) `\{ (.*?) \}`/g)
    return [
      call,
      {
        body: Array.from(body.matchAll(/`\{ (.*?) \}`/g), ([, names]) => names),
        ...Object.fromEntries(Array.from(fields, ([, status, names]) => [status, [names]])),
      },
    ]
  })
}

function described({ requestBody, responses }: Operation): object {
  const { default: _, ...answers } = responses
  return {
    body: requestBody ? fieldsOf(requestBody) : [],
    ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, fieldsOf(answer)])),
  }
}

/** One text for each alternative, such as `id, ttl, wait?`. */
function fieldsOf({ content }: Content): string[] {
  const { schema } = content['application/json']
  return (schema.anyOf ?? [schema]).map(({ properties = {}, required = [] }) =>
    Object.keys(properties)
      .map((name) => (required.includes(name) ? name : `${name}?`))
      .join(', '),
  )
}
