import { LeaseError } from '../core/index.ts'
import {
  bytes,
  choice,
  duration,
  flag,
  list,
  type Option,
  path,
  secret,
  secrets,
  text,
  whole,
} from './option.ts'

/**
 * Everything that can be set, by its name: `heartbeat` is `--heartbeat`, `HOLDFAST_HEARTBEAT`, and `heartbeat` in
 * the file. A flag goes before the environment, that before the file, and that before the default.
 */
export const SETTINGS = {
  host: text('127.0.0.1'),
  port: whole(4321, 0, 65_535),
  store: text('sqlite:./holdfast.db'),
  /** How long a lock lives without a heartbeat, and how often clients should send one. */
  ttl: duration('30s', '1s', '1h'),
  heartbeat: duration('10s', '100ms', '54m'),
  /** The safety net behind the announcements, which come when they happen. */
  sweep: duration('60s', '1s', '1h'),
  /** What a holder has to save before another takes over. */
  grace: duration('5s', '0ms', '5m'),
  /** What a holder has to answer a request to hand over, and what no answer counts as. */
  answerWithin: duration('15s', '1s', '5m'),
  unanswered: choice('decline', ['decline', 'grant']),
  maxWait: duration('60s', '0ms', '10m'),
  takeover: flag(true),
  /** Lets every session use the lease API, but for the leases of documents. */
  openLeases: flag(false),
  leaseTokens: secrets(),
  adminTokens: secrets(),
  /** The first signs; the others are still believed. */
  cookieSecrets: secrets(),
  cookieName: text('holdfast_session'),
  cookieSecure: choice('auto', ['auto', 'always', 'never']),
  cookieMaxAge: duration('720h', '1m', '9000h'),
  channelKey: text('holdfast'),
  channelSecret: secret(),
  /** Where secrets that were not given are kept, so that sessions outlive the process. Made when it is missing. */
  secretsFile: path(),
  eventNames: choice('plain', ['plain', 'laravel']),
  publicChannels: flag(true),
  /** Lets the sockets of a private or presence channel send events to each other. */
  clientEvents: flag(false),
  /** The silence after which a socket is pinged. */
  activityTimeout: duration('30s', '1s', '10m'),
  /** Other origins whose pages may call, beside the server's own. */
  origins: list(),
  /** The last hop of `X-Forwarded-For` is the client, since a proxy of yours wrote it. */
  trustProxy: flag(false),
  maxBody: bytes(16_384, 1024, 1_048_576),
  maxDocument: bytes(1_048_576, 1024, 67_108_864),
  maxRoomBytes: whole(200, 1, 400),
  /** Requests a second of one client address, and how many at once; 0: no limit. */
  rate: whole(100, 0, 1_000_000),
  burst: whole(400, 1, 1_000_000),
  telemetryRate: whole(5, 0, 1_000_000),
  maxSockets: whole(1000, 1, 1_000_000),
  auditEntries: whole(10_000, 100, 10_000_000),
  stopWithin: duration('10s', '0ms', '10m'),
  logLevel: choice('info', ['debug', 'info', 'warn', 'error', 'silent']),
} as const

export type Settings = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Option<infer T> ? T : never
}
export type SettingName = keyof Settings

/** One place that settings come from, such as the environment, with the name that each has there. */
export interface SettingsSource {
  readonly name: string
  /** How the setting is called there, for the error. */
  readonly label: (setting: SettingName) => string
  readonly values: Readonly<Record<string, unknown>>
}

/** The first source that has a setting decides. Throws an `invalid-argument` that names every mistake. */
export function resolveSettings(sources: readonly SettingsSource[]): Settings {
  const mistakes = sources.flatMap(unknownSettings)
  const names = Object.keys(SETTINGS) as SettingName[]
  const resolved = names.map((setting) => {
    const option: Option<unknown> = SETTINGS[setting]
    const source = sources.find(({ values }) => values[setting] !== undefined)
    if (!source) return [setting, option.default] as const
    const value = option.parse(source.values[setting])
    if (value === undefined)
      mistakes.push(
        `${source.label(setting)}: expected ${option.expected}, got ${option.show(source.values[setting])}`,
      )
    return [setting, value] as const
  })
  const settings = Object.fromEntries(resolved) as unknown as Settings
  if (mistakes.length === 0 && settings.heartbeat > settings.ttl * 0.9)
    mistakes.push(
      `heartbeat: expected at most 0.9 of the ttl of ${settings.ttl} ms, got ${settings.heartbeat} ms`,
    )
  if (mistakes.length > 0) throw new LeaseError('invalid-argument', mistakes.join('\n'))
  return settings
}

/** A mistake for each name that is none of a setting. */
export function unknownSettings({ name, values }: Pick<SettingsSource, 'name' | 'values'>): string[] {
  return Object.keys(values)
    .filter((key) => !Object.hasOwn(SETTINGS, key))
    .map((key) => `${key} (${name}): there is no such setting`)
}

/** Settings by their names, as code gives them: the rest are the defaults. */
export function settingsOf(values: Readonly<Record<string, unknown>> = {}): Settings {
  return resolveSettings([{ name: 'settings', label: (setting) => setting, values }])
}
