/**
 * Runs every command on each address of `HOLDFAST_ADDRESSES` in this process, as one process each would take minutes.
 * Prints a line of JSON for each: the address, the command, its exit code and everything it printed.
 */
import { runCommandLine } from '../../src/cli/command-line.ts'
import { callsWithStore } from './shortest-calls.ts'

const COMMANDS: readonly (readonly string[])[] = [
  ...(await callsWithStore()).map(([name, ...args]) => [name, '--store', '<address>', ...args]),
  ['doctor', '<address>'],
  ['migrate', '<address>'],
  ['bench', '--duration', '1ms', '<address>'],
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
// What is still on its way to a slow reader would be lost.
print('', () => process.exit())
