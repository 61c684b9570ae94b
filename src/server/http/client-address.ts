import type { Context } from 'hono'
import type { HeaderOf } from './header-of.ts'

/** Whom the limits of requests count. Where there is no connection to see, browsers differ by their cookies. */
export function addressOf(context: Context, header: HeaderOf, trustProxy: boolean): string {
  const { incoming } = Object(context.env) as { incoming?: { socket?: { remoteAddress?: string } } }
  const forwarded = trustProxy ? header('x-forwarded-for') : undefined
  return lastHop(forwarded) || incoming?.socket?.remoteAddress || header('cookie') || ''
}

/** Of `X-Forwarded-For`: what the nearest proxy wrote. The hops before it anybody may have made up. */
export function lastHop(forwarded: string | undefined): string {
  return forwarded?.split(',').at(-1)?.trim() ?? ''
}
