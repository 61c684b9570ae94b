import { messageOf } from '../base/errors.ts'
import { showRedacted } from '../base/redact.ts'
import { nearest } from '../base/suggest.ts'
import { renamedFlag } from '../configuration/settings.ts'
import { type Command, GENERAL_OPTIONS } from './command.ts'
import { usageFailure } from './failure.ts'

// An import of `node:util` would also load what nobody uses of it, because it reads every property of the module.
const { parseArgs } = process.getBuiltinModule('node:util')

export type Flags = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>

export interface Arguments {
  readonly flags: Flags
  readonly wantsHelp: boolean
  readonly positionals: readonly string[]
  /** The words after `--`. */
  readonly childCommand: readonly string[]
}

/** `name`: of the command, for messages. */
export function parseArguments(name: string, command: Command, args: readonly string[]): Arguments {
  const end = command.runsCommand ? args.indexOf('--') : -1
  const { values, positionals } = parse(name, command, end < 0 ? args : args.slice(0, end))
  const childCommand = end < 0 ? undefined : args.slice(end + 1)
  const { help } = values
  const wantsHelp = help === true
  if (!wantsHelp) checkCount(command, positionals, childCommand)
  return { flags: values, wantsHelp, positionals, childCommand: childCommand ?? [] }
}

function parse(name: string, { options }: Command, args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { ...options, ...GENERAL_OPTIONS },
      allowPositionals: true,
    })
  } catch (error) {
    const message = messageOf(error)
    // Node adds advice in a second sentence or line.
    const [problem = message] = message.split(/\. (?=To specify)|\.?\n/)
    const [, unknown] = /^Unknown option '--([\w-]+)'/.exec(message) ?? []
    const renamed = unknown && renamedFlag(unknown)
    if (renamed && Object.hasOwn(options, renamed))
      throw usageFailure(`--${unknown}: this flag is now called --${renamed}`, { cause: error })
    const near = unknown && nearest(unknown, Object.keys({ ...options, ...GENERAL_OPTIONS }))
    const question = near ? `, did you mean --${near}?` : ';'
    throw usageFailure(`${lowerFirst(problem)}${question} holdfast ${name} --help lists the options`, {
      cause: error,
    })
  }
}

/** `childCommand`: `undefined` if there is no `--`. */
function checkCount(
  { positionalCount, runsCommand = false, usage }: Command,
  positionals: readonly string[],
  childCommand: readonly string[] | undefined,
): void {
  const fail = (problem: string) => usageFailure(`${problem}; usage: holdfast ${usage}`)
  const [min, max] = positionalCount
  const count = positionals.length
  if (runsCommand && !childCommand && count > max) throw fail('expected -- before the command to run')
  if (count < min) throw fail(`expected ${describeCount(positionalCount)}, got ${count}`)
  if (count > max)
    throw fail(
      `unexpected argument ${showRedacted(positionals[max])}: expected ${describeCount(positionalCount)}, got ${count}`,
    )
  if (runsCommand && !childCommand?.length) throw fail('expected a command to run after --, got none')
}

function describeCount([min, max]: Command['positionalCount']): string {
  if (max === 0) return 'no arguments'
  if (min === max) return `${max} argument`
  return max === Number.POSITIVE_INFINITY ? `at least ${min} argument` : `at most ${max} argument`
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
