import { parseArguments } from './arguments.ts'
import { CATALOG } from './catalog.ts'
import { EXIT } from './exit-codes.ts'
import { asFailure, usageFailure } from './failure.ts'
import { CommandSettings } from './settings.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** Understands the arguments, runs the command, and tells of its failure. Resolves with the exit code. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  const isJson = own.includes('--json')
  const terminal = openTerminal(process.env, isJson)
  calmWarnings(terminal)
  try {
    return await dispatch(args, terminal)
  } catch (error) {
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
  const entry = Object.hasOwn(CATALOG, name) ? CATALOG[name] : undefined
  if (!entry)
    throw usageFailure(
      `there is no command ${JSON.stringify(name)}; there are ${Object.keys(CATALOG).join(', ')}`,
    )
  const command = await entry.load()
  const { flags, wantsHelp, positionals, rest } = parseArguments(name, command, args)
  if (wantsHelp) return help([name], terminal)
  const settings = await CommandSettings.load(flags, command.options, process.env)
  return command.run({ positionals, rest, settings, terminal })
}

async function help([name]: readonly string[], terminal: Terminal): Promise<number> {
  const { printHelp, printOverview } = await import('./help.ts')
  const entry = name !== undefined && Object.hasOwn(CATALOG, name) ? CATALOG[name] : undefined
  if (entry) printHelp(await entry.load(), terminal)
  else printOverview(terminal)
  return EXIT.ok
}

async function version(terminal: Terminal): Promise<number> {
  const { readFileSync } = await import('node:fs')
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  terminal.print(JSON.parse(manifest).version)
  return EXIT.ok
}

/** A warning is one line as well, and that a module of Node is new is no news to the user of a command. */
function calmWarnings(terminal: Terminal): void {
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') terminal.remark(message)
  })
}
