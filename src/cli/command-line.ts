import { stackOf } from '../base/error-stack.ts'
import { redactText, showRedacted } from '../base/redact.ts'
import { nearest } from '../base/suggest.ts'
import { CATALOG, findCommand } from './catalog.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { asFailure, type Failure, usageFailure } from './failure.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** Parses the arguments, runs the command, and prints its failure. Resolves with the exit code. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  const isJson = own.includes('--json')
  const terminal = openTerminal(process.env, isJson)
  printWarnings(terminal)
  const fail = (error: unknown): ExitCode => {
    terminal.step('')
    const { message, exitCode } = asFailure(error)
    if (isJson)
      process.stderr.write(`${JSON.stringify({ error: { message: redactText(message), exitCode } })}\n`)
    else terminal.remark(message)
    if (own.includes('--debug')) process.stderr.write(`${stackOf(error)}\n`)
    return exitCode
  }
  // Of a client that reports an error to nobody. Node would exit with 1, which means that the answer is no.
  process.on('uncaughtException', (error) => process.exit(fail(error)))
  return dispatch(args, terminal).catch(fail)
}

async function dispatch([name, ...args]: readonly string[], terminal: Terminal): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') return help(args, terminal)
  if (name === '--version' || name === '-V') return version(terminal)
  const found = findCommand(name)
  if (!found) throw unknownCommand(name)
  // Loaded on demand, so that `--version` starts without them.
  const [command, { parseArguments }, { CommandSettings }] = await Promise.all([
    found.load(),
    import('./arguments.ts'),
    import('./settings.ts'),
  ])
  const { flags, wantsHelp, positionals, childCommand } = parseArguments(name, command, args)
  if (wantsHelp) return help([name], terminal)
  const settings = await CommandSettings.load(flags, command.options, process.env)
  return command.run({ positionals, childCommand, settings, terminal })
}

function unknownCommand(name: string): Failure {
  const near = nearest(name, Object.keys(CATALOG))
  const remedy = near ? `did you mean \`${near}\`?` : `expected one of ${Object.keys(CATALOG).join(', ')}`
  return usageFailure(`unknown command ${showRedacted(name)}, ${remedy}`)
}

async function help([name]: readonly string[], terminal: Terminal): Promise<number> {
  const { printHelp, printOverview } = await import('./help.ts')
  const command = await findCommand(name)?.load()
  if (command) printHelp(command, terminal)
  else printOverview(terminal)
  return EXIT.ok
}

async function version(terminal: Terminal): Promise<number> {
  const { readVersion } = await import('../configuration/version-node.ts')
  terminal.print(readVersion())
  return EXIT.ok
}

/** Prints each warning of Node as one line, except that a module of Node is experimental. */
function printWarnings(terminal: Terminal): void {
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') terminal.remark(message)
  })
}
