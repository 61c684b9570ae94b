import type { Context } from 'hono'

/** Reads a header of the request. The name is in lower case. */
export type HeaderOf = (name: string) => string | undefined

/** On Node the headers are already parsed. Creating a `Headers` from them would cost as much as the routing. */
export function headersOf(context: Context): HeaderOf {
  const { incoming } = Object(context.env) as { incoming?: { headers?: Record<string, unknown> } }
  const parsed = incoming?.headers
  if (!parsed) return headerOf(context.req.raw)
  return (name) => parsed[name] as string | undefined
}

/** The same for a request without its connection. */
export function headerOf({ headers }: Request): HeaderOf {
  return (name) => headers.get(name) ?? undefined
}

/** The address of the connection, where the server around it tells. */
export function connectionOf(context: Context): string | undefined {
  const { incoming } = Object(context.env) as { incoming?: { socket?: { remoteAddress?: string } } }
  return incoming?.socket?.remoteAddress
}

/** The address as it was sent. `Request` resolves `.` and `..` in a path. `undefined`: it is not known. */
export function sentAddress(context: Context): string | undefined {
  const { incoming } = Object(context.env) as { incoming?: { url?: string } }
  return incoming?.url
}
