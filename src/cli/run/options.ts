import { hostname, userInfo } from 'node:os'
import { messageOf } from '../../base/errors.ts'
import { MIN_TTL_MS } from '../../base/options.ts'
import type { JsonObject } from '../../base/records.ts'
import { showRedacted } from '../../base/redact.ts'
import { SETTINGS } from '../../configuration/settings.ts'
import { flag, type Options, STORE_OPTIONS, settingOption, valueOption } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { usageFailure } from '../failure.ts'
import { formatDuration } from '../format-duration.ts'
import type { CommandSettings } from '../settings.ts'
import { readKeep } from './once-options.ts'

/** With a longer grace, a failed renewal could not be retried before SIGTERM. */
const MAX_GRACE_FRACTION = 0.4
/** How many days the result of a job is kept, unless `--keep` says otherwise. */
export const KEEP_DAYS = 30
/** A year, the longest time that a job store keeps a result. */
export const MAX_KEEP_MS = 366 * 86_400_000

export const RUN_OPTIONS: Options = {
  wait: valueOption(
    '<duration>',
    'the longest wait for the lease, and for a store that cannot be reached (default: no limit for the lease)',
    { setting: 'environment' },
  ),
  'if-available': flag(`do not wait: exit with ${EXIT.held} if another caller holds the lease`),
  ttl: {
    ...settingOption('ttl'),
    help: `how long the lease outlives a holder that died (default ${SETTINGS.ttl.usual})`,
  },
  share: valueOption(
    '<number>',
    'how many may hold the lease together; "unlimited" for a reader (default: only one)',
  ),
  'at-least': valueOption(
    '<duration>',
    'how long the resource stays taken after the grant, even if the command ends earlier',
  ),
  'lock-delay': valueOption(
    '<duration>',
    'how long the resource stays taken after the lease has expired, such as after a crash; not after it was released',
  ),
  once: flag('run the command only if no run with this name has ended with 0 before; exit with 0 if one has'),
  keep: valueOption(
    '<duration>',
    `with --once: for how long a run that is done counts (default ${KEEP_DAYS}d)`,
  ),
  grace: valueOption('<duration>', 'the time between SIGTERM and SIGKILL (default: a sixth of the TTL)'),
  owner: valueOption('<name>', 'the name of the holder that others see (default user@host:pid)', {
    setting: 'environment',
  }),
  metadata: valueOption(
    '<key=value>',
    'data about the holder that others see; repeat it, or give one JSON object',
    { short: 'm', multiple: true },
  ),
  quiet: flag('print nothing about the wait', 'q'),
  ...STORE_OPTIONS,
}

export interface RunOptions {
  readonly ttl: number
  readonly wait: number
  /** How long to try to reach the store. Without `--wait` the first failure counts: the address may be wrong. */
  readonly retryFor: number
  readonly owner: string
  readonly metadata?: JsonObject
  readonly share: number | undefined
  readonly atLeast: number | undefined
  readonly lockDelay: number | undefined
  readonly graceMs: number
  /** With `--once`. */
  readonly keep: number | undefined
}

export function readRunOptions(settings: CommandSettings): RunOptions {
  const ttl = settings.duration('ttl', MIN_TTL_MS) ?? SETTINGS.ttl.default
  const graceMs = settings.duration('grace') ?? Math.floor(ttl / 6)
  const maxGraceMs = ttl * MAX_GRACE_FRACTION
  if (graceMs > maxGraceMs) {
    const expected = `at most ${formatDuration(maxGraceMs)}, which is ${MAX_GRACE_FRACTION * 100} % of the TTL`
    const remedy = 'use a shorter --grace or a longer --ttl'
    throw usageFailure(`--grace: expected ${expected}, got ${formatDuration(graceMs)}; ${remedy}`)
  }
  const metadata = settings.all('metadata')
  const wait = readWait(settings)
  return {
    ttl,
    wait,
    retryFor: wait === Number.POSITIVE_INFINITY ? 0 : wait,
    owner: settings.text('owner') ?? `${userName()}@${hostname()}:${process.pid}`,
    ...(metadata.length > 0 && { metadata: readMetadata(metadata) }),
    share: settings.text('share') === 'unlimited' ? Infinity : settings.wholeNumber('share'),
    atLeast: settings.duration('at-least'),
    lockDelay: settings.duration('lock-delay'),
    graceMs,
    keep: readKeep(settings),
  }
}

function readWait(settings: CommandSettings): number {
  if (!settings.is('if-available')) return settings.duration('wait') ?? Number.POSITIVE_INFINITY
  if (settings.has('wait'))
    throw usageFailure('expected --if-available or --wait, got both; --if-available does not wait at all')
  return 0
}

function readMetadata(given: readonly string[]): JsonObject {
  const [only = ''] = given
  if (given.length === 1 && only.startsWith('{')) return parseJsonObject(only)
  return Object.fromEntries(
    given.map((text) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
      if (key === undefined || value === undefined)
        throw usageFailure(`--metadata: expected key=value or one JSON object, got ${showRedacted(text)}`)
      return [key, value]
    }),
  )
}

function parseJsonObject(text: string): JsonObject {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw usageFailure(
      `--metadata: expected key=value or one JSON object, got ${showRedacted(text)}: ${messageOf(cause)}`,
      {
        cause,
      },
    )
  }
}

/** The number of the user if it has no name, as in some containers. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
