import { SETTINGS, type SettingName } from '../configuration/settings.ts'
import type { CommandSettings } from './settings.ts'
import type { Terminal } from './terminal.ts'

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** The value in the help, such as `<duration>`. */
  readonly value?: string
  readonly multiple?: boolean
  /** May also come from the environment (`HOLDFAST_TTL`), or from there and the configuration file. */
  readonly setting?: 'environment' | 'file'
  readonly help: string
}

export type Options = Readonly<Record<string, Option>>

export interface Command {
  /** After `holdfast`, such as `run [options] <resource> -- <command…>`. */
  readonly usage: string
  /** Paragraphs, with a blank line between them. The help breaks their lines. */
  readonly description: string
  readonly options: Options
  /** How many arguments it takes, options not counted. */
  readonly positionalCount: readonly [min: number, max: number]
  /** The words after `--` are a command to run. */
  readonly runsCommand?: boolean
  /** The first argument is a resource. The shell offers the names that are held now. */
  readonly takesResource?: boolean
  readonly examples: readonly (readonly [line: string, text: string])[]
  /** Resolves with the exit code. */
  run(invocation: Invocation): Promise<number>
}

export interface Invocation {
  readonly positionals: readonly string[]
  /** The words after `--`; empty unless `runsCommand` is set. */
  readonly childCommand: readonly string[]
  readonly settings: CommandSettings
  readonly terminal: Terminal
}

export function flag(help: string, short?: string): Option {
  return { type: 'boolean', help, ...(short !== undefined && { short }) }
}

/** `value`: in the help, such as `<duration>`. */
export function valueOption(value: string, help: string, more?: Partial<Option>): Option {
  return { type: 'string', value, help, ...more }
}

/** Options of every command. */
export const GENERAL_OPTIONS: Options = {
  json: flag('print JSON'),
  debug: flag('print the stack of an error'),
  help: flag('show this help', 'h'),
}

/** Options of every command that uses a store. */
export const STORE_OPTIONS: Options = {
  store: settingOption('store', 's'),
  listen: valueOption(
    '<url>',
    'the direct address of a Postgres whose --store is a pooler such as PgBouncer, for notifications',
    { setting: 'environment' },
  ),
  config: valueOption('<file>', 'a TOML or JSON file with settings (default ./holdfast.toml, if it exists)', {
    setting: 'environment',
  }),
}

/** A setting of the configuration as an option of a command. */
export function settingOption(name: SettingName, short?: string): Option {
  const { placeholder, help, usual } = SETTINGS[name]
  const text = usual ? `${help} (default ${usual})` : help
  return valueOption(placeholder, text, { setting: 'file', ...(short !== undefined && { short }) })
}
