import { statSync } from 'node:fs'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { expectText, refuse } from '../../base/arguments.ts'
import type { ChannelsHub } from '../channels/index.ts'
import type { LockServer } from '../create.ts'
import { connectionOf, headersOf } from '../http/request-headers.ts'
import { isForService } from './node-listener.ts'
import { type PackedFile, packedFiles } from './packed-files.ts'

/** Pages may load only their own files, and be shown in a frame of their own: the editor shows two people in one window. A worker may be created from a blob. */
const PAGE_POLICY =
  "default-src 'self'; connect-src 'self' ws: wss:; worker-src 'self' blob:; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'"
/** A name with a hash of the content, as bundlers create it, and maybe compressed. */
const HASHED = /-[\w-]{8,}\.\w+(\.br|\.gz)?$/

export function expectAssets(directory: string): void {
  expectText('assets', directory)
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory())
    refuse('assets', 'the path of a directory', directory)
}

/** Serves the files of a directory. Every other request goes to the service. */
export function assetHandler(
  directory: string,
  service: LockServer['fetch'],
  { isOwnHost, senderOf }: Pick<ChannelsHub, 'isOwnHost' | 'senderOf'>,
): LockServer['fetch'] {
  const app = new Hono()
  const files = serveStatic({
    root: directory,
    rewriteRequestPath: (path) => (/\/[^./]+$/.test(path) ? `${path}.html` : path),
    // A file `x.js` may have `x.js.br` and `x.js.gz` beside it.
    precompressed: true,
    onFound(path, context) {
      for (const [name, value] of Object.entries(headersOfFile(path))) context.header(name, value)
    },
  })
  const packed = packedFiles(directory)
  app.get('*', async (context, next) => {
    const { host } = senderOf(headersOf(context), connectionOf(context))
    const isPage = !isForService(context.req.path) && isOwnHost(host || new URL(context.req.url).host)
    if (!isPage) return next()
    const file = packed.get(context.req.path)
    if (file) return unlessUnchanged(context.req.raw, await unpacked(file, context.req.raw))
    const found = await files(context, next)
    return found instanceof Response ? unlessUnchanged(context.req.raw, found) : found
  })
  app.all('*', (context) => service(context.req.raw, Object(context.env)))
  return (request, env) => app.fetch(request, env)
}

function headersOfFile(path: string): Record<string, string> {
  return {
    ETag: tagOf(path),
    Vary: 'Accept-Encoding',
    'Cache-Control': HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Security-Policy': PAGE_POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  }
}

async function unpacked({ path, type, encodings }: PackedFile, request: Request): Promise<Response> {
  const encoding = accepts(request, 'br') ? 'br' : accepts(request, 'gzip') ? 'gzip' : 'identity'
  const headers = { ...headersOfFile(path), ETag: tagOf(path, encoding), 'Content-Type': type }
  const named = encoding === 'identity' ? {} : { 'Content-Encoding': encoding }
  return new Response(await encodings[encoding](), { headers: { ...headers, ...named } })
}

function accepts(request: Request, encoding: string): boolean {
  const accepted = request.headers.get('Accept-Encoding')?.split(',') ?? []
  return accepted.some((one) => {
    const [name, quality = ''] = one.split(';').map((part) => part.trim())
    return name === encoding && !/^q=0(\.0*)?$/.test(quality)
  })
}

/** Each encoding of a file is another representation, so it has another tag. */
function tagOf(path: string, encoding = /\.(br|gz)$/.exec(path)?.[1] ?? ''): string {
  const { size, mtimeMs } = statSync(path)
  return `"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}${encoding}"`
}

/** 304 if the browser has this file already. */
async function unlessUnchanged(request: Request, response: Response): Promise<Response> {
  const tag = response.headers.get('ETag')
  const known = request.headers.get('If-None-Match')?.split(',') ?? []
  // A proxy that compresses makes a tag weak.
  if (!known.some((one) => one.trim().replace(/^W\//, '') === tag)) return response
  await response.body?.cancel()
  const headers = new Headers(response.headers)
  headers.delete('Content-Length')
  headers.delete('Content-Encoding')
  return new Response(null, { status: 304, headers })
}
