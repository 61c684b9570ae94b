import { readFileSync } from 'node:fs'
import { parse as parseToml } from 'smol-toml'
import { LeaseError } from '../../core/index.ts'
import {
  resolveSettings,
  SETTINGS,
  type SettingName,
  type Settings,
  type SettingsSource,
} from '../settings.ts'

export interface ConfigurationSources {
  /** By their names on the command line, such as `log-level`. */
  readonly flags?: Readonly<Record<string, unknown>>
  /** Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** A file of JSON or TOML, by its ending. */
  readonly file?: string
}

/**
 * Settings from flags, the environment, a file and the defaults, in this order. Throws `invalid-argument` with one
 * line for each mistake: the option, what was expected, what came.
 *
 * @example
 * const settings = loadSettings({ flags: { ttl: '1m' }, file: './holdfast.toml' })
 */
export function loadSettings(sources: ConfigurationSources = {}): Settings {
  const { flags = {}, environment = process.env, file } = sources
  return resolveSettings([
    {
      name: 'flag',
      label: (setting) => `--${flagOf(setting)}`,
      values: Object.fromEntries(Object.entries(flags).map(([flag, value]) => [settingOf(flag), value])),
    },
    {
      name: 'environment',
      label: variableOf,
      values: Object.fromEntries(names.map((name) => [name, environment[variableOf(name)]])),
    },
    ...(file === undefined ? [] : [fileSource(file)]),
  ])
}

const names = Object.keys(SETTINGS) as SettingName[]

/** The settings as flags, for `parseArgs`. */
export function settingFlags(): Readonly<Record<string, { readonly type: 'string' }>> {
  return Object.fromEntries(names.map((name) => [flagOf(name), { type: 'string' }]))
}

function fileSource(path: string): SettingsSource {
  return { name: path, label: (setting) => `${setting} (${path})`, values: readSettings(path) }
}

function readSettings(path: string): Record<string, unknown> {
  try {
    const text = readFileSync(path, 'utf8')
    const values: unknown = path.endsWith('.toml') ? parseToml(text) : JSON.parse(text)
    if (values !== null && typeof values === 'object' && !Array.isArray(values)) return { ...values }
    throw new SyntaxError('expected an object')
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new LeaseError('invalid-argument', `${path}: ${message}`, { cause: error })
  }
}

function flagOf(setting: SettingName): string {
  return setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function settingOf(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function variableOf(setting: SettingName): string {
  return `HOLDFAST_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}
