/** The options of `run --once`. Apart from `once.ts`, which only a run with `--once` loads. */

import { usageFailure } from '../failure.ts'
import type { CommandSettings } from '../settings.ts'
import { KEEP_DAYS, MAX_KEEP_MS } from './options.ts'

const DAY_MS = 86_400_000
/** These belong to a lease, which `--once` does not take. */
const OF_LEASES = ['share', 'at-least', 'lock-delay', 'metadata'] as const

/** For how long a job that is done is not run again. */
export function readKeep(settings: CommandSettings): number | undefined {
  const keep = settings.duration('keep', 1, MAX_KEEP_MS)
  if (!settings.is('once')) {
    if (keep !== undefined) throw usageFailure('--keep: only with --once')
    return undefined
  }
  const lease = OF_LEASES.find((option) => settings.has(option))
  if (lease) throw usageFailure(`--once: not together with --${lease}`)
  return keep ?? KEEP_DAYS * DAY_MS
}
