import * as v from 'valibot'
import { HttpError } from './http-error.ts'
import type { HeaderOf } from './request-headers.ts'

/** The content type does not matter, because a beacon sends text. An empty body is an empty object. */
export async function readJson(request: Request, header: HeaderOf, limit: number): Promise<unknown> {
  const text = await readText(request, header, limit)
  try {
    return JSON.parse(text || '{}')
  } catch {
    throw new HttpError(400, 'invalid_json', 'the body is not JSON')
  }
}

export async function readForm(
  request: Request,
  header: HeaderOf,
  limit: number,
): Promise<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(await readText(request, header, limit)))
}

export function refuseIfTooLarge(header: HeaderOf, limit: number): void {
  if (Number(header('content-length') ?? 0) > limit) throw tooLarge(limit)
}

export function validated<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  code = 'invalid_body',
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortEarly: true })
  if (result.success) return result.output
  const [issue] = result.issues
  const where = v.getDotPath(issue)
  throw new HttpError(400, code, where === null ? issue.message : `${where}: ${issue.message}`)
}

async function readText(request: Request, header: HeaderOf, limit: number): Promise<string> {
  refuseIfTooLarge(header, limit)
  try {
    // The HTTP parser reads no more than the announced length.
    if (header('content-length') !== undefined) return await request.text()
    return await readCounting(request, limit)
  } catch (error) {
    if (error instanceof HttpError) throw error
    throw new HttpError(400, 'invalid_body', 'the body could not be read')
  }
}

async function readCounting(request: Request, limit: number): Promise<string> {
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length
    if (bytes > limit) throw tooLarge(limit)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function tooLarge(limit: number): HttpError {
  return new HttpError(413, 'body_too_large', `expected a body of at most ${limit} bytes`)
}
