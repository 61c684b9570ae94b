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
  /** The address to listen on; `0.0.0.0` is all. Default `127.0.0.1`. */
  host: text('127.0.0.1'),
  /** The port to listen on; 0 is any. Default 4321. */
  port: whole(4321, 0, 65_535),
  /** For `holdfast serve`: where the leases are. Default `sqlite:./holdfast.db`. */
  store: text('sqlite:./holdfast.db'),
  /** How long a lock lives without a heartbeat. Default `30s`. */
  ttl: duration('30s', '1s', '1h'),
  /** How often clients are told to send one; at most 0.9 of the TTL. Default `10s`. */
  heartbeat: duration('10s', '100ms', '54m'),
  /** How often what has run out is looked for: the safety net behind the announcements. Default `60s`. */
  sweep: duration('60s', '1s', '1h'),
  /** What a holder has to save before another takes over. Default `5s`. */
  grace: duration('5s', '0ms', '5m'),
  /** What a holder has to answer a request to hand over. Default `15s`. */
  answerWithin: duration('15s', '1s', '5m'),
  /** What no answer counts as. Default `decline`. */
  unanswered: choice('decline', ['decline', 'grant']),
  /** The longest that a request may stand in line; more counts as this. Default `60s`. */
  maxWait: duration('60s', '0ms', '10m'),
  /** Whether others may take a lock over. Default true. */
  takeover: flag(true),
  /** Lets every session use the lease API, but for the leases of documents. Default false. */
  openLeases: flag(false),
  /** Who has one may use the lease API. At least 16 characters each. Default none. */
  leaseTokens: secrets(),
  /** Who has one may do everything. At least 16 characters each. Default none. */
  adminTokens: secrets(),
  /** Sign the sessions: the first signs, the others are still believed. Default: made at start. */
  cookieSecrets: secrets(),
  /** Default `holdfast_session`. */
  cookieName: text('holdfast_session'),
  /** Whether the cookie is for HTTPS only; `auto`: if it was asked for by HTTPS. Default `auto`. */
  cookieSecure: choice('auto', ['auto', 'always', 'never']),
  /** How long a browser keeps its session. Default `720h`. */
  cookieMaxAge: duration('720h', '1m', '9000h'),
  /** Names the application in the address of the WebSockets, `/app/{key}`. Default `holdfast`. */
  channelKey: text('holdfast'),
  /** Signs private and presence channels, the same on all nodes. Default: made at start. */
  channelSecret: secret(),
  /** Where secrets that were not given are kept, so that sessions outlive the process. Made when it is missing. */
  secretsFile: path(),
  /** How events are named: `document.locked`, or `App\Events\DocumentLocked`. Default `plain`. */
  eventNames: choice('plain', ['plain', 'laravel']),
  /** Whether one may subscribe without a signature. Default true. */
  publicChannels: flag(true),
  /** Lets the sockets of a private or presence channel send events to each other. Default false. */
  clientEvents: flag(false),
  /** The silence after which a socket is pinged. Default `30s`. */
  activityTimeout: duration('30s', '1s', '10m'),
  /** Other origins whose pages may call and connect, such as `https://app.example.com`. Default none. */
  origins: list(),
  /** The last hop of `X-Forwarded-For` is the client, since a proxy of yours wrote it. Default false. */
  trustProxy: flag(false),
  /** Bytes of a request. Default 16 384. */
  maxBody: bytes(16_384, 1024, 1_048_576),
  /** Bytes of a request that saves a document. Default 1 048 576. */
  maxDocument: bytes(1_048_576, 1024, 67_108_864),
  /** Bytes of the name of a room. Default 200. */
  maxRoomBytes: whole(200, 1, 400),
  /** Requests a second of one client address; 0: no limit. Default 100. */
  rate: whole(100, 0, 1_000_000),
  /** Requests of one client address at once. Default 400. */
  burst: whole(400, 1, 1_000_000),
  /** Batches of telemetry a second of one client address; 0: no limit. Default 5. */
  telemetryRate: whole(5, 0, 1_000_000),
  /** Open sockets of one client address. Default 1000. */
  maxSockets: whole(1000, 1, 1_000_000),
  /** Entries of an audit trail in memory. Default 10 000. */
  auditEntries: whole(10_000, 100, 10_000_000),
  /** How long requests may take to finish when the server stops. Default `10s`. */
  stopWithin: duration('10s', '0ms', '10m'),
  /** `debug` shows heartbeats too. Default `info`. */
  logLevel: choice('info', ['debug', 'info', 'warn', 'error', 'silent']),
} as const

export type Settings = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Option<infer T> ? T : never
}
export type SettingName = keyof Settings

/** Settings as code gives them: durations also as `30s`, lists also as one text with commas. */
export type GivenSettings = { readonly [Name in keyof Settings]?: Given<Settings[Name]> | undefined }

type Given<T> = T extends number
  ? number | string
  : T extends boolean
    ? boolean | 'true' | 'false'
    : T extends readonly string[]
      ? T | string
      : T

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
