/** Holds back what a handler writes to a response of Node until its answer is stored. */
import type { FinishedAnswer } from './answer.ts'
import { isEndless } from './fetch-messages.ts'
import type { NodeHeaders } from './parsed-body.ts'
import { joined } from './read-within.ts'

/** What is used of a `ServerResponse` of Node. */
export interface NodeResponse {
  statusCode: number
  statusMessage: string
  getHeaders(): NodeHeaders
  setHeader(name: string, value: string | number | readonly string[]): unknown
  write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean
  end(chunk?: unknown, encoding?: unknown, callback?: unknown): unknown
  writeHead(status: number, ...rest: readonly unknown[]): unknown
  flushHeaders(): void
  once(event: 'close', listener: () => void): unknown
}

export interface CapturedResponse {
  /** Whether the answer is complete, or known to be one that is not stored. */
  isFinished(): boolean
  /** Sends what was held back. What follows is sent at once. */
  release(): void
}

/** `finished` is called once: with all bytes, or with the reason why they are not stored. */
export function captureResponse(
  response: NodeResponse,
  limit: number,
  finished: (body: FinishedAnswer['body']) => void,
): CapturedResponse {
  const { write, end, writeHead, flushHeaders } = response
  const chunks: Uint8Array[] = []
  let size = 0
  let isFinished = false
  let isEnded = false
  const callbacks: unknown[] = []

  function finish(body: FinishedAnswer['body']): void {
    if (isFinished) return
    isFinished = true
    finished(body)
  }

  function add(chunk: unknown, encoding: unknown): void {
    if (chunk === undefined || chunk === null || typeof chunk === 'function') return
    const bytes =
      typeof chunk === 'string'
        ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
        : (chunk as Uint8Array)
    chunks.push(bytes)
    size += bytes.length
    if (isEndless(response.getHeaders()['content-type'])) finish('stream')
    if (size > limit) finish('too-large')
  }

  Object.assign(response, {
    write(chunk: unknown, ...rest: readonly unknown[]) {
      add(chunk, rest[0])
      callbacks.push(rest.find(isFunction))
      return true
    },
    end(...args: readonly unknown[]) {
      if (isEnded) return response
      add(args[0], args[1])
      callbacks.push(args.find(isFunction))
      isEnded = true
      finish(joined(chunks, size))
      return response
    },
    writeHead(status: number, ...rest: readonly unknown[]) {
      response.statusCode = status
      if (typeof rest[0] === 'string') response.statusMessage = rest[0]
      for (const [name, value] of pairsOf(rest.at(-1))) response.setHeader(name, value)
      return response
    },
    // A handler that sends the headers alone is about to send a stream.
    flushHeaders: () => finish('stream'),
  })

  return {
    isFinished: () => isFinished,
    release() {
      Object.assign(response, { write, end, writeHead, flushHeaders })
      if (isEnded) response.end(joined(chunks, size))
      else if (size > 0) response.write(joined(chunks, size))
      else response.flushHeaders()
      for (const callback of callbacks) if (isFunction(callback)) callback()
    },
  }
}

function isFunction(value: unknown): value is () => void {
  return typeof value === 'function'
}

/** The headers of `writeHead`: an object, a list of pairs, or names and values in turn. */
function pairsOf(headers: unknown): [string, string | string[]][] {
  if (!Array.isArray(headers)) return typeof headers === 'object' && headers ? Object.entries(headers) : []
  if (Array.isArray(headers[0])) return headers as [string, string][]
  return headers.flatMap((name, at) => (at % 2 ? [] : [[String(name), headers[at + 1]]]))
}
