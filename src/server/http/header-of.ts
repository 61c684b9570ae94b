import type { Context } from 'hono'

/** Reads a header of the request by its name in small letters. */
export type HeaderOf = (name: string) => string | undefined

/** On Node the headers are there already; a `Headers` made from them would cost as much as the routing. */
export function headersOf(context: Context): HeaderOf {
  const { incoming } = Object(context.env) as { incoming?: { headers?: Record<string, unknown> } }
  const parsed = incoming?.headers
  if (!parsed) return (name) => context.req.raw.headers.get(name) ?? undefined
  return (name) => parsed[name] as string | undefined
}
