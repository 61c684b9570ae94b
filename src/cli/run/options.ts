import { hostname, userInfo } from 'node:os'
import type { JsonObject } from '../../core/index.ts'
import { usageFailure } from '../failure.ts'
import type { CommandSettings } from '../settings.ts'

const DEFAULT_TTL_MS = 30_000
/** So that a renewal that fails is tried again before the command is asked to stop. */
const MAX_GRACE_SHARE = 0.4

/** How the lease of a command is asked for. */
export interface Wish {
  readonly ttl: number
  readonly wait: number
  readonly owner: string
  readonly metadata?: JsonObject
  readonly graceMs: number
}

export function readWish(settings: CommandSettings): Wish {
  const ttl = settings.duration('ttl') ?? DEFAULT_TTL_MS
  const graceMs = settings.duration('grace') ?? Math.floor(ttl / 6)
  if (graceMs > ttl * MAX_GRACE_SHARE)
    throw usageFailure(
      `--grace: expected at most ${MAX_GRACE_SHARE * 100} % of the TTL, got ${graceMs} ms of ${ttl}; a longer --ttl gives more room`,
    )
  const entries = settings.all('metadata')
  return {
    ttl,
    wait: readWait(settings),
    owner: settings.text('owner') ?? `${userName()}@${hostname()}:${process.pid}`,
    ...(entries.length > 0 && { metadata: readMetadata(entries) }),
    graceMs,
  }
}

function readWait(settings: CommandSettings): number {
  if (!settings.is('if-available')) return settings.duration('wait') ?? Number.POSITIVE_INFINITY
  if (settings.has('wait')) throw usageFailure('--if-available does not wait; leave out --wait')
  return 0
}

function readMetadata(entries: readonly string[]): JsonObject {
  const [only = ''] = entries
  if (entries.length === 1 && only.startsWith('{')) {
    try {
      return JSON.parse(only)
    } catch (cause) {
      throw usageFailure(`--metadata: ${(cause as Error).message}; give key=value or a JSON object`, {
        cause,
      })
    }
  }
  return Object.fromEntries(
    entries.map((entry) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(entry) ?? []
      if (key === undefined || value === undefined)
        throw usageFailure(`--metadata: expected key=value, got ${JSON.stringify(entry)}`)
      return [key, value]
    }),
  )
}

/** A container may run as a user who has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'somebody')
  }
}
