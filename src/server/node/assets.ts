import { statSync } from 'node:fs'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { expectText, refuse } from '../../base/arguments.ts'
import type { ChannelsHub } from '../channels/index.ts'
import type { LockServer } from '../create.ts'
import { connectionOf, headersOf } from '../http/request-headers.ts'
import { isForService } from './node-listener.ts'

/** Pages may load only their own files. A worker may be created from a blob. */
const PAGE_POLICY =
  "default-src 'self'; connect-src 'self' ws: wss:; worker-src 'self' blob:; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
/** A name with a hash of the content, as bundlers create it. */
const HASHED = /-[\w-]{8,}\.\w+$/

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
    onFound(path, context) {
      context.header('Cache-Control', HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache')
      context.header('Content-Security-Policy', PAGE_POLICY)
      context.header('X-Content-Type-Options', 'nosniff')
      context.header('Referrer-Policy', 'no-referrer')
    },
  })
  app.get('*', (context, next) => {
    const { host } = senderOf(headersOf(context), connectionOf(context))
    const isPage = !isForService(context.req.path) && isOwnHost(host || new URL(context.req.url).host)
    return isPage ? files(context, next) : next()
  })
  app.all('*', (context) => service(context.req.raw, Object(context.env)))
  return (request, env) => app.fetch(request, env)
}
