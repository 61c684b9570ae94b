/**
 * Runs every command on each address of `HOLDFAST_ADDRESSES` in this process, as one process each would take minutes.
 * Prints a line of JSON for each: the address, the command, its exit code and everything it printed.
 */
import { runCommandLine } from '../../src/cli/command-line.ts'

const COMMANDS: readonly (readonly string[])[] = [
  ['run', '--wait', '1ms', '--store', '<address>', 'job', '--', 'true'],
  ['ls', '--store', '<address>'],
  ['inspect', '--store', '<address>', 'job'],
  ['watch', '--store', '<address>'],
  ['release', '--force', '--yes', '--store', '<address>', 'job'],
  ['doctor', '<address>'],
  ['migrate', '<address>'],
  ['bench', '--duration', '1ms', '<address>'],
  ['serve', '--port', '0', '--start-within', '0ms', '--store', '<address>'],
  // Mistakes: the address is where something else is expected.
  ['<address>'],
  ['ls', 'prefix', '<address>'],
  ['ls', '--limit', '<address>'],
  ['run', '--ttl', '<address>', 'job', '--', 'true'],
  ['completion', '<address>'],
]

const addresses: string[] = JSON.parse(process.env['HOLDFAST_ADDRESSES'] ?? '[]')
const { stdout, stderr } = process
const print = stdout.write.bind(stdout)
let printed = ''
const keep = (text: unknown) => {
  printed += text
  return true
}
stdout.write = keep
stderr.write = keep
process.setMaxListeners(0)
stdout.setMaxListeners(0)
stderr.setMaxListeners(0)

for (const address of addresses)
  for (const words of COMMANDS)
    for (const flags of [[], ['--debug'], ['--json']]) {
      const [name = '', ...args] = words.map((word) => (word === '<address>' ? address : word))
      printed = ''
      const code = await runCommandLine([name, ...flags, ...args])
      print(`${JSON.stringify({ address, command: words[0], flags, code, printed })}\n`)
    }
process.exit()
