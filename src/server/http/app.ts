import { Hono } from 'hono'
import * as v from 'valibot'
import { administrationRoutes } from '../routes/administration.ts'
import { contentRoutes } from '../routes/contents.ts'
import { leaseRoutes } from '../routes/leases.ts'
import { lockRoutes } from '../routes/locks.ts'
import { operationRoutes } from '../routes/operations.ts'
import { pusherApiRoutes } from '../routes/pusher-api.ts'
import { handoffRoutes } from '../routes/takeover-and-handoff.ts'
import type { Service } from '../service.ts'
import { HttpError } from './http-error.ts'
import { openApi } from './openapi.ts'
import type { RequestHandler } from './request-handler.ts'
import { type Route, route } from './route.ts'

/** Every route of the service. */
export function allRoutes(service: Service): Route[] {
  const routes = [
    ...lockRoutes(service),
    ...handoffRoutes(service),
    ...contentRoutes(service),
    ...leaseRoutes(service),
    ...administrationRoutes(service),
    ...operationRoutes(service),
    ...pusherApiRoutes(service),
  ]
  let created: string | undefined
  const document: Route = route('GET', '/openapi.json', {
    id: 'openApi',
    action: null,
    summary: 'This document.',
    answers: { 200: v.looseObject({ openapi: v.string() }) },
    handle() {
      created ??= JSON.stringify(openApi([...routes, document], service.settings))
      return { body: created }
    },
  })
  return [...routes, document]
}

/** The routes as a Hono app, which is also a plain fetch handler. */
export function createApp(service: Service, handler: RequestHandler): Hono {
  const app = new Hono()
  const routes = allRoutes(service)
  for (const each of routes)
    app.on(each.method, patternOf(each.path), (context, next) =>
      isAlias(each.path) && !context.req.path.endsWith(each.path) ? next() : handler.handle(each, context),
    )

  // Only for our own paths: this app may be mounted in another one, which answers its own preflights.
  const paths = [...new Set(routes.map(({ path }) => patternOf(path)))]
  app.on('OPTIONS', paths, (context) => handler.preflight(context))

  const patterns = routes.map(({ path, method }) => ({
    method,
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }))
  app.notFound((context) => {
    const found = patterns.filter(({ pattern }) => pattern.test(context.req.path))
    if (found.length === 0)
      return handler.refuse(context, new HttpError(404, 'not_found', 'there is nothing here'))
    const methods = found.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    const headers = { Allow: [...new Set(methods)].join(', ') }
    return handler.refuse(
      context,
      new HttpError(405, 'method_not_allowed', `expected ${headers.Allow}`, { headers }),
      found[0]?.path,
    )
  })
  return app
}

/**
 * Hono's fast router takes no fixed name where another route has a parameter, and its slow one costs a heartbeat a
 * tenth of its time. So such a route gets the pattern of the other, and looks at the path itself.
 */
const ALIASES: Readonly<Record<string, string>> = { '/api/documents/locks': '/api/documents/{roomId}' }

function isAlias(path: string): boolean {
  return path in ALIASES
}

function patternOf(path: string): string {
  return (ALIASES[path] ?? path).replace(/\{(\w+)\}/g, ':$1')
}
