import type { Context } from 'hono'

/** Reads a header of the request. The name is in lower case. */
export type HeaderOf = (name: string) => string | undefined

/** On Node the headers are already parsed. Creating a `Headers` from them would cost as much as the routing. */
export function headersOf(context: Context): HeaderOf {
  const { incoming } = Object(context.env) as { incoming?: { headers?: Record<string, unknown> } }
  const parsed = incoming?.headers
  if (!parsed) return (name) => context.req.raw.headers.get(name) ?? undefined
  return (name) => parsed[name] as string | undefined
}

/** What the limits count. Without a connection, browsers are told apart by their cookies. */
export function addressOf(context: Context, header: HeaderOf, trustProxy: boolean): string {
  const { incoming } = Object(context.env) as { incoming?: { socket?: { remoteAddress?: string } } }
  const forwarded = trustProxy ? header('x-forwarded-for') : undefined
  return lastHop(forwarded) || incoming?.socket?.remoteAddress || header('cookie') || ''
}

/** The entry of `X-Forwarded-For` that the nearest proxy wrote. A client can invent the entries before it. */
export function lastHop(forwarded: string | undefined): string {
  return forwarded?.split(',').at(-1)?.trim() ?? ''
}
