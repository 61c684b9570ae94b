import { parseArgs } from 'node:util'
import { type Command, GENERAL_OPTIONS } from './command.ts'
import { usageFailure } from './failure.ts'

export type Flags = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>

export interface Arguments {
  readonly flags: Flags
  readonly wantsHelp: boolean
  readonly positionals: readonly string[]
  readonly rest: readonly string[]
}

/** `name`: of the command, for messages. */
export function parseArguments(name: string, command: Command, args: readonly string[]): Arguments {
  const end = command.runsCommand ? args.indexOf('--') : -1
  const own = end < 0 ? args : args.slice(0, end)
  const { values, positionals } = parsed(name, command, own)
  const rest = end < 0 ? [] : args.slice(end + 1)
  const { help: wantsHelp = false } = values
  if (!wantsHelp) checkCount(command, positionals, end < 0 ? null : rest)
  return { flags: values, wantsHelp: wantsHelp === true, positionals, rest }
}

/** `rest`: what stands after `--`; `null` where there is none. */
function checkCount(command: Command, positionals: readonly string[], rest: readonly string[] | null): void {
  const [least, most] = command.takes
  const refuse = (problem: string) => usageFailure(`${problem}; usage: holdfast ${command.usage}`)
  const { runsCommand = false } = command
  if (runsCommand && rest === null && positionals.length > most) throw refuse('put -- before the command')
  if (positionals.length < least) throw refuse('something is missing')
  if (positionals.length > most) throw refuse(`${JSON.stringify(positionals[most])} is one argument too many`)
  if (runsCommand && !rest?.length) throw refuse('there is no command to run')
}

function parsed(name: string, { options }: Command, args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { ...options, ...GENERAL_OPTIONS },
      allowPositionals: true,
    })
  } catch (error) {
    const { message } = error as Error
    const [problem = message] = message.split(/\. (?=To specify)|\.?\n/)
    throw usageFailure(`${lowerFirst(problem)}; holdfast ${name} --help lists the options`, { cause: error })
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
