import type { Flags } from './arguments.ts'
import type { Options } from './command.ts'
import { parseDuration } from './duration.ts'
import { usageFailure } from './failure.ts'

const DEFAULT_FILE = 'holdfast.toml'

/** What the user wants: by flag, else by environment, else by file. */
export class Settings {
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

  static async load(flags: Flags, options: Options, env: NodeJS.ProcessEnv): Promise<Settings> {
    const path = 'config' in options ? new Settings(flags, options, env).text('config') : undefined
    const file = 'config' in options ? await readConfiguration(path) : undefined
    return new Settings(flags, options, env, file)
  }

  /** The configuration file in use. */
  get file(): string | undefined {
    return this.#file?.path
  }

  /** The flags that were given on the command line, as they were. */
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

  duration(name: string): number | undefined {
    const found = this.#find(name)
    return found && parseDuration(found.value, found.source)
  }

  wholeNumber(name: string): number | undefined {
    const found = this.#find(name)
    if (!found) return undefined
    if (!/^[1-9]\d{0,8}$/.test(found.value))
      throw usageFailure(
        `${found.source}: expected a whole number from 1, got ${JSON.stringify(found.value)}`,
      )
    return Number(found.value)
  }

  /** The value, and how messages name the place where it came from. */
  #find(name: string): { readonly value: string; readonly source: string } | undefined {
    const flag = this.#flags[name]
    if (typeof flag === 'string') return { value: flag, source: `--${name}` }
    const { setting } = this.#options[name] ?? {}
    const variable = variableOf(name)
    const value = setting && this.#environment[variable]
    if (value) return { value, source: variable }
    const kept = setting === 'file' ? this.#file?.values[name] : undefined
    if (kept === undefined) return undefined
    const source = `${name} in ${this.#file?.path}`
    if (typeof kept !== 'string' && typeof kept !== 'number')
      throw usageFailure(`${source}: expected a text or a number, got ${JSON.stringify(kept)}`)
    return { value: String(kept), source }
  }
}

export function variableOf(name: string): string {
  return `HOLDFAST_${name.toUpperCase().replaceAll('-', '_')}`
}

interface ConfigurationFile {
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
}

async function readConfiguration(named: string | undefined): Promise<ConfigurationFile | undefined> {
  const { existsSync } = await import('node:fs')
  if (named === undefined && !existsSync(DEFAULT_FILE)) return undefined
  const path = named ?? DEFAULT_FILE
  const values = await readValues(path)
  // All commands share the file. A misspelt store would else be the default one, which is nobody else's.
  const { unknownSettings } = await import('../server/settings.ts')
  const mistakes = unknownSettings({ name: path, values })
  if (mistakes.length > 0) throw usageFailure(mistakes.join('\n'))
  return { path, values }
}

async function readValues(path: string): Promise<Record<string, unknown>> {
  const { readFileSync } = await import('node:fs')
  try {
    const text = readFileSync(path, 'utf8')
    const values = path.endsWith('.json') ? JSON.parse(text) : (await import('smol-toml')).parse(text)
    if (Array.isArray(values) || Object(values) !== values) throw new SyntaxError('expected an object')
    return values
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    throw usageFailure(`the configuration ${path} cannot be used: ${reason}`, { cause: error })
  }
}
