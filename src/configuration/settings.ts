import { expectObject } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { HEARTBEATS_PER_TTL, MAX_HEARTBEAT_PART } from '../base/options.ts'
import { misspelt, suggest } from '../base/suggest.ts'
import {
  address,
  bytes,
  choice,
  duration,
  flag,
  list,
  origins,
  path,
  proxies,
  type Setting,
  secret,
  secrets,
  text,
  webAddress,
  whole,
} from './setting-kinds.ts'

/**
 * Every setting by its name: `maxWait` is `--max-wait`, `HOLDFAST_MAX_WAIT`, and `maxWait` in the file. A flag wins
 * over the environment, the environment over the file, and the file over the default.
 */
export const SETTINGS = {
  /** The address to listen on; 0.0.0.0 is every address. Default `127.0.0.1`. */
  host: text('127.0.0.1', 'the address to listen on; 0.0.0.0 is every address'),
  /** The port to listen on; 0 is any free port. Default `4321`. */
  port: whole(4321, 0, 65_535, 'the port to listen on; 0 is any free port'),
  /** The file of a certificate, to listen with HTTPS; read again when it changes. */
  tlsCert: path('the file of a certificate, to listen with HTTPS; read again when it changes'),
  /** The file of its key. */
  tlsKey: path('the file of its key'),
  /** Where the leases are, such as redis://host. Default `sqlite:./holdfast.db`. */
  store: address('sqlite:./holdfast.db', 'where the leases are, such as redis://host'),
  /** How long a lock lives without a heartbeat. Default `30s`. */
  ttl: duration('30s', '1s', '1h', 'how long a lock lives without a heartbeat'),
  /**
   * How often clients send a heartbeat; at most 0.9 of the ttl, and a third of a ttl below 30s by default. Default `10s`.
   */
  heartbeat: duration(
    '10s',
    '100ms',
    '54m',
    'how often clients send a heartbeat; at most 0.9 of the ttl, and a third of a ttl below 30s by default',
  ),
  /** How often the server looks for expired locks that were not announced. Default `60s`. */
  sweep: duration('60s', '1s', '1h', 'how often the server looks for expired locks that were not announced'),
  /** How long a holder may still save before another takes over. Default `5s`. */
  grace: duration('5s', '0ms', '5m', 'how long a holder may still save before another takes over'),
  /** How long a holder may take to answer a handoff request. Default `15s`. */
  answerWithin: duration('15s', '1s', '5m', 'how long a holder may take to answer a handoff request'),
  /** What no answer to a handoff request counts as. Default `decline`. */
  unanswered: choice('decline', ['decline', 'grant'], 'what no answer to a handoff request counts as'),
  /** The longest wait of a request in the queue; more counts as this. Default `50s`. */
  maxWait: duration('50s', '0ms', '10m', 'the longest wait of a request in the queue; more counts as this'),
  /** Whether others may take a lock over. Default `true`. */
  takeover: flag(true, 'whether others may take a lock over'),
  /** Whether every session may use the lease API (except leases of documents). Default `false`. */
  openLeases: flag(false, 'whether every session may use the lease API (except leases of documents)'),
  /** Whether every session may send telemetry. Default `false`. */
  acceptTelemetry: flag(false, 'whether every session may send telemetry'),
  /** Tokens that allow the lease API, at least 16 characters each. */
  leaseTokens: secrets('tokens that allow the lease API, at least 16 characters each'),
  /** Tokens that allow everything, at least 16 characters each. */
  adminTokens: secrets('tokens that allow everything, at least 16 characters each'),
  /** Sign the sessions, the same on all nodes: the first signs, all are accepted. */
  cookieSecrets: secrets('sign the sessions, the same on all nodes: the first signs, all are accepted'),
  /** The name of the session cookie. Default `holdfast_session`. */
  cookieName: text('holdfast_session', 'the name of the session cookie'),
  /** Whether the cookie is for HTTPS only; auto: if the request came over HTTPS. Default `auto`. */
  cookieSecure: choice(
    'auto',
    ['auto', 'always', 'never'],
    'whether the cookie is for HTTPS only; auto: if the request came over HTTPS',
  ),
  /** How long a browser keeps its session. Default `720h`. */
  cookieMaxAge: duration('720h', '1m', '9000h', 'how long a browser keeps its session'),
  /** The id in the address of the HTTP API for backends, /apps/{id}. Default `holdfast`. */
  appId: text('holdfast', 'the id in the address of the HTTP API for backends, /apps/{id}'),
  /** The public key in the address of the WebSockets, /app/{key}. Default `holdfast`. */
  channelKey: text('holdfast', 'the public key in the address of the WebSockets, /app/{key}'),
  /** Signs private and presence channels, the same on all nodes. */
  channelSecret: secret('signs private and presence channels, the same on all nodes'),
  /** Where generated secrets are kept, so that sessions outlive the process. */
  secretsFile: path('where generated secrets are kept, so that sessions outlive the process'),
  /** The address that is told who comes and goes in channels, as Pusher tells it. */
  webhook: webAddress('the address that is told who comes and goes in channels, as Pusher tells it'),
  /** How events are named: document.locked, or App\Events\DocumentLocked. Default `plain`. */
  eventNames: choice(
    'plain',
    ['plain', 'laravel'],
    'how events are named: document.locked, or App\\Events\\DocumentLocked',
  ),
  /** Whether clients may subscribe without a signature. Default `true`. */
  publicChannels: flag(true, 'whether clients may subscribe without a signature'),
  /** Whether sockets of a private or presence channel may send events to each other. Default `false`. */
  clientEvents: flag(false, 'whether sockets of a private or presence channel may send events to each other'),
  /** How long a socket may be silent before it is pinged. Default `30s`. */
  activityTimeout: duration('30s', '1s', '10m', 'how long a socket may be silent before it is pinged'),
  /** Other origins whose pages may call, such as https://app.example.com. */
  origins: origins('other origins whose pages may call, such as https://app.example.com'),
  /** Further request headers that pages of these origins may send, such as X-Tenant. */
  headers: list('further request headers that pages of these origins may send, such as X-Tenant'),
  /** Names in the Host header; needed beside localhost on a loopback address, and empty is any elsewhere. */
  hosts: list(
    'names in the Host header; needed beside localhost on a loopback address, and empty is any elsewhere',
  ),
  /**
   * Proxies whose headers tell the client: how many are in front, or their networks, such as 10.0.0.0/8.
   * Default `false`.
   */
  trustProxy: proxies(
    'proxies whose headers tell the client: how many are in front, or their networks, such as 10.0.0.0/8',
  ),
  /**
   * What those proxies write; auto: X-Forwarded-For and the like, or Forwarded where that is missing. Default
   * `auto`.
   */
  proxyHeaders: choice(
    'auto',
    ['auto', 'x-forwarded', 'forwarded'],
    'what those proxies write; auto: X-Forwarded-For and the like, or Forwarded where that is missing',
  ),
  /** The largest request in bytes. Default `16384`. */
  maxBody: bytes(16_384, 1024, 1_048_576, 'the largest request in bytes'),
  /** The largest request that saves a document, in bytes. Default `1048576`. */
  maxDocument: bytes(1_048_576, 1024, 67_108_864, 'the largest request that saves a document, in bytes'),
  /** How deeply the arrays and objects of a request may be nested. Default `100`. */
  maxDepth: whole(100, 4, 1000, 'how deeply the arrays and objects of a request may be nested'),
  /** The longest name of a room in bytes. Default `200`. */
  maxRoomBytes: whole(200, 1, 400, 'the longest name of a room in bytes'),
  /** Requests per second of one client address; 0: no limit. Default `100`. */
  rate: whole(100, 0, 1_000_000, 'requests per second of one client address; 0: no limit'),
  /** Requests of one client address at once. Default `400`. */
  burst: whole(400, 1, 1_000_000, 'requests of one client address at once'),
  /** Telemetry batches per second of one client address; 0: no limit. Default `5`. */
  telemetryRate: whole(5, 0, 1_000_000, 'telemetry batches per second of one client address; 0: no limit'),
  /** Open sockets of one client address. Default `1000`. */
  maxSockets: whole(1000, 1, 1_000_000, 'open sockets of one client address'),
  /** Requests that wait for one document or resource at this node. Default `1000`. */
  maxWaiters: whole(1000, 1, 1_000_000, 'requests that wait for one document or resource at this node'),
  /** Requests of one client address that wait at this node. Default `200`. */
  maxWaitersOfAddress: whole(200, 1, 1_000_000, 'requests of one client address that wait at this node'),
  /** Entries of an audit trail in memory. Default `10000`. */
  auditEntries: whole(10_000, 100, 10_000_000, 'entries of an audit trail in memory'),
  /** How long a request may take to arrive. Default `20s`. */
  receiveWithin: duration('20s', '1s', '5m', 'how long a request may take to arrive'),
  /**
   * How long the server tries to reach its store when it starts; /readyz answers 503 meanwhile. Default
   * `30s`.
   */
  startWithin: duration(
    '30s',
    '0ms',
    '1h',
    'how long the server tries to reach its store when it starts; /readyz answers 503 meanwhile',
  ),
  /**
   * How long /readyz answers 503 before a server that stops closes its port; longer than a balancer takes to
   * notice. Default `0ms`.
   */
  drain: duration(
    '0ms',
    '0ms',
    '10m',
    'how long /readyz answers 503 before a server that stops closes its port; longer than a balancer takes to notice',
  ),
  /** How long requests may take to finish when the server stops. Default `10s`. */
  stopWithin: duration('10s', '0ms', '10m', 'how long requests may take to finish when the server stops'),
  /** Which lines are logged; debug includes heartbeats and probes. Default `info`. */
  logLevel: choice(
    'info',
    ['debug', 'info', 'warn', 'error', 'silent'],
    'which lines are logged; debug includes heartbeats and probes',
  ),
  /** Whether the log contains the paths of requests, and so the names of rooms. Default `false`. */
  logRooms: flag(false, 'whether the log contains the paths of requests, and so the names of rooms'),
} as const

/** Settings by their former names. Each is refused with its new name. */
const RENAMED = new Map([['openTelemetry', 'acceptTelemetry']])

export type Settings = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer T, infer _>
    ? T
    : never
}
export type SettingName = keyof Settings

/** Settings in code: durations also as `30s`, lists also as one text with commas. */
export type GivenSettings = {
  readonly [Name in keyof typeof SETTINGS]?:
    | ((typeof SETTINGS)[Name] extends Setting<infer _, infer Given> ? Given : never)
    | undefined
}

/** One source of settings, such as the environment. */
export interface SettingsSource {
  readonly name: string
  /** The name of the setting there, for an error. */
  readonly label: (setting: SettingName) => string
  readonly values: Readonly<Record<string, unknown>>
}

/**
 * The first source that has a setting decides. Throws `invalid-argument` with one line for each mistake.
 *
 * @example
 * const settings = resolveSettings([
 *   { name: 'flags', label: (name) => `--${name}`, values: { port: '8080' } },
 *   { name: 'file', label: (name) => name, values: { ttl: '1m' } },
 * ])
 */
export function resolveSettings(sources: readonly SettingsSource[]): Settings {
  const mistakes = sources.flatMap(unknownSettings)
  const names = Object.keys(SETTINGS) as SettingName[]
  const resolved = names.map((setting) => {
    const known: Setting<unknown> = SETTINGS[setting]
    const source = sources.find(({ values }) => values[setting] !== undefined)
    if (!source) return [setting, known.default] as const
    const value = known.parse(source.values[setting])
    if (value === undefined)
      mistakes.push(
        `${source.label(setting)}: expected ${known.expected}, got ${known.show(source.values[setting])}`,
      )
    return [setting, value] as const
  })
  const given = Object.fromEntries(resolved) as unknown as Settings
  const settings = { ...given, heartbeat: heartbeatOf(given, sources) }
  if (mistakes.length === 0 && settings.heartbeat > settings.ttl * MAX_HEARTBEAT_PART)
    mistakes.push(
      `heartbeat: expected at most ${MAX_HEARTBEAT_PART} of the ttl of ${settings.ttl} ms, got ${settings.heartbeat} ms`,
    )
  if (mistakes.length === 0 && (settings.tlsCert === '') !== (settings.tlsKey === ''))
    mistakes.push('tlsCert and tlsKey: expected both or neither')
  if (mistakes.length > 0) throw new LeaseError('invalid-argument', mistakes.join('\n'))
  return settings
}

/** A shorter `ttl` alone is no mistake: its heartbeat follows, as that of a lease does. */
function heartbeatOf({ heartbeat, ttl }: Settings, sources: readonly SettingsSource[]): number {
  const isGiven = sources.some(({ values: { heartbeat: own } }) => own !== undefined)
  return isGiven ? heartbeat : Math.min(heartbeat, Math.floor(ttl / HEARTBEATS_PER_TTL))
}

/** One line for each name that is not a setting. */
export function unknownSettings({ name, values }: Pick<SettingsSource, 'name' | 'values'>): string[] {
  return Object.keys(values)
    .filter((key) => !Object.hasOwn(SETTINGS, key))
    .map((key) => {
      const renamed = RENAMED.get(key)
      const remedy = renamed
        ? `this setting is now called \`${renamed}\``
        : `unknown setting, ${suggest(key, Object.keys(SETTINGS))}`
      return `\`${key}\` (${name}): ${remedy}`
    })
}

/** The new flag of a setting that had this one: `open-telemetry` → `accept-telemetry`. */
export function renamedFlag(flag: string): string | undefined {
  const renamed = RENAMED.get(settingOf(flag))
  return renamed && flagOf(renamed)
}

/**
 * Throws if a variable is a misspelt or former one of a setting, or a misspelt one of `others`. Any other `HOLDFAST_`
 * variable belongs to another program.
 */
export function expectVariables(environment: Readonly<Record<string, unknown>>, others: string[] = []): void {
  const known = [...Object.keys(SETTINGS).map(flagOf), ...others].map(variableOf)
  const renamed = new Map([...RENAMED].map((names) => names.map(flagOf).map(variableOf) as [string, string]))
  const mistakes = Object.keys(environment).flatMap((name) => {
    if (renamed.has(name)) return [`${name}: this variable is now called ${renamed.get(name)}`]
    const meant = misspelt(name, known)
    return meant === undefined ? [] : [`${name}: unknown variable, did you mean ${meant}?`]
  })
  if (mistakes.length > 0) throw new LeaseError('invalid-argument', mistakes.join('\n'))
}

/**
 * Settings given in code; the others have their defaults.
 *
 * @example
 * const { ttl, port } = settingsOf({ port: 8080 })
 */
export function settingsOf(values: Readonly<Record<string, unknown>> = {}): Settings {
  expectObject('settings', values)
  return resolveSettings([{ name: 'settings', label: (setting) => setting, values }])
}

/** `maxWait` → `max-wait`, its flag on the command line. */
export function flagOf(setting: string): string {
  return setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** `max-wait` → `maxWait`. */
export function settingOf(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** `max-wait` → `HOLDFAST_MAX_WAIT`, its variable in the environment. */
export function variableOf(flag: string): string {
  return `HOLDFAST_${flag.toUpperCase().replaceAll('-', '_')}`
}
