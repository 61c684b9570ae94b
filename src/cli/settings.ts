import { existsSync } from 'node:fs'
import { MAX_TIMER_MS } from '../base/clock.ts'
import { millisOf, unitQuestion } from '../base/duration.ts'
import { showRedacted } from '../base/redact.ts'
import { expectVariables, settingOf, unknownSettings, variableOf } from '../configuration/settings.ts'
import type { Flags } from './arguments.ts'
import type { Options } from './command.ts'
import { type Failure, usageFailure } from './failure.ts'
import { formatDuration } from './format-duration.ts'

const DEFAULT_FILE = 'holdfast.toml'

/** The options of a command: from its flags, else from the environment, else from the configuration file. */
export class CommandSettings {
  readonly #flags: Flags
  readonly #options: Options
  readonly #environment: NodeJS.ProcessEnv
  readonly #file: ConfigurationFile | undefined

  private constructor(flags: Flags, options: Options, env: NodeJS.ProcessEnv, file?: ConfigurationFile) {
    this.#flags = flags
    this.#options = options
    this.#environment = env
    this.#file = file
  }

  static async load(flags: Flags, options: Options, env: NodeJS.ProcessEnv): Promise<CommandSettings> {
    expectVariables(
      env,
      Object.keys(options).filter((name) => options[name]?.setting),
    )
    const withoutFile = new CommandSettings(flags, options, env)
    if (!('config' in options)) return withoutFile
    const file = await readConfiguration(withoutFile.text('config'))
    return new CommandSettings(flags, options, env, file)
  }

  /** The configuration file in use. */
  get file(): string | undefined {
    return this.#file?.path
  }

  /** The flags of the command line. */
  get flags(): Flags {
    return this.#flags
  }

  /** Whether the flag was given on the command line. */
  has(flag: string): boolean {
    return this.#flags[flag] !== undefined
  }

  is(flag: string): boolean {
    return this.#flags[flag] === true
  }

  all(flag: string): readonly string[] {
    const value = this.#flags[flag]
    return Array.isArray(value) ? value.map(String) : []
  }

  text(name: string): string | undefined {
    return this.#find(name)?.value
  }

  duration(name: string, min = 0, max = MAX_TIMER_MS): number | undefined {
    const found = this.#find(name)
    if (!found) return undefined
    const ms = millisOf(found.value)
    if (Number.isNaN(ms)) throw wrongValue(found, 'a duration such as 500ms, 30s or 5m')
    const question = unitQuestion(found.value)
    if (question) throw usageFailure(`${found.source}: expected a duration with a unit, got ${question}`)
    if (ms < min || ms > max) {
      const limit = ms < min ? `at least ${formatDuration(min)}` : `at most ${formatDuration(max)}`
      throw usageFailure(`${found.source}: expected ${limit}, got ${found.value}`)
    }
    return ms
  }

  wholeNumber(name: string): number | undefined {
    const found = this.#find(name)
    if (!found) return undefined
    const number = Number(found.value)
    if (!/^[1-9]\d*$/.test(found.value) || !Number.isSafeInteger(number))
      throw wrongValue(found, 'a whole number from 1')
    return number
  }

  #find(name: string): FoundValue | undefined {
    const flag = this.#flags[name]
    // An empty one is usually that of a variable that is not set, and must not mean the default.
    if (flag === '') throw wrongValue({ value: flag, source: `--${name}` }, 'a text')
    if (typeof flag === 'string') return { value: flag, source: `--${name}` }
    const { setting } = this.#options[name] ?? {}
    const variable = variableOf(name)
    const value = setting && this.#environment[variable]
    if (value) return { value, source: variable }
    return setting === 'file' ? this.#findInFile(name) : undefined
  }

  #findInFile(name: string): FoundValue | undefined {
    const value = this.#file?.values[settingOf(name)]
    if (value === undefined) return undefined
    const source = `${name} in ${this.#file?.path}`
    if (typeof value !== 'string' && typeof value !== 'number')
      throw wrongValue({ value, source }, 'a text or a number')
    return { value: String(value), source }
  }
}

interface FoundValue {
  readonly value: string
  /** Where it was found, for messages. */
  readonly source: string
}

function wrongValue({ value, source }: { value: unknown; source: string }, expected: string): Failure {
  return usageFailure(`${source}: expected ${expected}, got ${showRedacted(value)}`)
}

interface ConfigurationFile {
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
}

async function readConfiguration(named: string | undefined): Promise<ConfigurationFile | undefined> {
  const path = named ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined)
  if (path === undefined) return undefined
  // Loaded on demand, because most calls need no parser.
  const { readConfigurationFile } = await import('../configuration/load-node.ts')
  const values = readConfigurationFile(path)
  // All commands share the file. With a misspelt `store`, a command would silently use the default one.
  const mistakes = unknownSettings({ name: path, values })
  if (mistakes.length > 0) throw usageFailure(mistakes.join('\n'))
  return { path, values }
}
