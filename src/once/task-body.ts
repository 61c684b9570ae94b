const MAX_BODY_BYTES = 16_384

/** What is wrong with a request, as the answer will say it. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

/** Whatever its content type: queues send `application/octet-stream` unless they are told otherwise. */
export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request)
  try {
    return JSON.parse(text)
  } catch {
    throw new BadRequest(400, 'invalid_json')
  }
}

/** Counts while it reads: a length that was announced proves nothing. */
async function readText(request: Request): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  let text = ''
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) throw new BadRequest(413, 'body_too_large')
      text += decoder.decode(chunk, { stream: true })
    }
    return text + decoder.decode()
  } catch (error) {
    throw error instanceof BadRequest ? error : new BadRequest(400, 'invalid_body')
  }
}
