import { readFileSync } from 'node:fs'
import { parse as parseToml } from 'smol-toml'
import { expectOptions, isObject } from '../base/arguments.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import {
  expectVariables,
  flagOf,
  resolveSettings,
  SETTINGS,
  type Settings,
  type SettingsSource,
  settingOf,
  variableOf,
} from './settings.ts'

export interface ConfigurationSources {
  /** By their names on the command line, such as `log-level`. */
  readonly flags?: Readonly<Record<string, unknown>> | undefined
  /** Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  /** A file in TOML or JSON. */
  readonly file?: string | undefined
}

/**
 * Settings from flags, the environment, a file and the defaults, in this order. Throws `invalid-argument` with one
 * line for each mistake: the setting, the expected and the received value.
 *
 * @example
 * const settings = loadSettings({ flags: { ttl: '1m' }, file: './holdfast.toml' })
 */
export function loadSettings(sources: ConfigurationSources = {}): Settings {
  expectOptions(sources, { flags: 1, environment: 1, file: 1 })
  const { flags = {}, environment = process.env, file } = sources
  expectVariables(environment)
  const variable = (setting: string) => variableOf(flagOf(setting))
  const given = (setting: string) => {
    const value = environment[variable(setting)]
    return value !== undefined && SERVICE_LINK.test(value) ? undefined : value
  }
  return resolveSettings([
    {
      name: 'flag',
      label: (setting) => `--${flagOf(setting)}`,
      values: Object.fromEntries(Object.entries(flags).map(([flag, value]) => [settingOf(flag), value])),
    },
    {
      name: 'environment',
      label: variable,
      values: Object.fromEntries(names.map((name) => [name, given(name)])),
    },
    ...(file === undefined ? [] : [fileSource(file)]),
  ])
}

const names = Object.keys(SETTINGS)

/** Beside a service called `holdfast`, Kubernetes sets `HOLDFAST_PORT=tcp://10.0.0.1:80` in every pod. It is not meant. */
const SERVICE_LINK = /^(tcp|udp|sctp):\/\//

/**
 * The settings as flags, for `parseArgs`.
 *
 * @example
 * const { values } = parseArgs({ options: settingFlags() }) // --port, --store, …
 */
export function settingFlags(): Readonly<Record<string, { readonly type: 'string' }>> {
  return Object.fromEntries(names.map((name) => [flagOf(name), { type: 'string' }]))
}

function fileSource(path: string): SettingsSource {
  return { name: path, label: (setting) => `${setting} (${path})`, values: readConfigurationFile(path) }
}

/** The values of a file in TOML or JSON. Its content decides if its extension is neither. */
export function readConfigurationFile(path: string): Readonly<Record<string, unknown>> {
  try {
    const values = parse(path, new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)))
    if (isObject(values)) return values
    throw new SyntaxError('expected an object')
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const [reason] = isMissing ? ['there is no such file'] : messageOf(error).split('\n')
    throw new LeaseError('invalid-argument', `the configuration ${path} cannot be used: ${reason}`, {
      cause: error,
    })
  }
}

function parse(path: string, text: string): unknown {
  if (path.endsWith('.json')) return JSON.parse(text)
  if (path.endsWith('.toml')) return parseToml(text)
  // No TOML begins with a brace.
  return text.trimStart().startsWith('{') ? JSON.parse(text) : parseToml(text)
}
