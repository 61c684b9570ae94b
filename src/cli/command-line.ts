import { show } from '../base/arguments.ts'
import { suggest } from '../base/suggest.ts'
import { CATALOG, findCommand } from './catalog.ts'
import { EXIT } from './exit-codes.ts'
import { asFailure, usageFailure } from './failure.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** Parses the arguments, runs the command, and prints its failure. Resolves with the exit code. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  const isJson = own.includes('--json')
  const terminal = openTerminal(process.env, isJson)
  printWarnings(terminal)
  try {
    return await dispatch(args, terminal)
  } catch (error) {
    terminal.step('')
    const { message, exitCode } = asFailure(error)
    if (isJson) process.stderr.write(`${JSON.stringify({ error: { message, exitCode } })}\n`)
    else terminal.remark(message)
    if (own.includes('--debug')) console.error(error)
    return exitCode
  }
}

async function dispatch([name, ...args]: readonly string[], terminal: Terminal): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') return help(args, terminal)
  if (name === '--version' || name === '-V') return version(terminal)
  const found = findCommand(name)
  if (!found) throw usageFailure(`unknown command ${show(name)}, ${suggest(name, Object.keys(CATALOG))}`)
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
