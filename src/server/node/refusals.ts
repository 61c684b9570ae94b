/** Answers in JSON to requests that do not reach the service. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { RequestError } from '@hono/node-server'
import { HttpError } from '../http/http-error.ts'
import { refusalOf } from '../http/reply.ts'

/** For a connection on which no response can be created. It ends. */
export function refuseConnection(stream: Duplex, error: HttpError): void {
  const { status, headers, body } = refusalOf(error)
  const all = { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  stream.on('error', () => {})
  stream.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
}

export function refuseResponse(response: ServerResponse, error: HttpError): void {
  const { status, headers, body } = refusalOf(error)
  response
    .writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' })
    .end(body)
}

/** For an error outside of the service: no `Request` can be created from what was received. */
export function errorResponse(error: unknown): Response {
  const isMalformed = error instanceof RequestError
  const { status, headers, body } = refusalOf(
    isMalformed
      ? new HttpError(400, 'bad_request', 'the address of the request, or its Host header, is malformed')
      : new HttpError(500, 'internal', 'something went wrong; the log of the server says what'),
  )
  return new Response(body, { status, headers })
}
