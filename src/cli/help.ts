import { variableOf } from '../configuration/settings.ts'
import { CATALOG } from './catalog.ts'
import { type Command, GENERAL_OPTIONS, type Options } from './command.ts'
import { alignColumns, type Terminal } from './terminal.ts'

const OVERVIEW = `Leases on the command line: who may do this now, until when, and how does everyone else find out?`

export function printOverview(terminal: Terminal): void {
  const heading = headingOf(terminal)
  const commands = Object.entries(CATALOG).map(([name, { summary }]) => [`  ${name}`, summary])
  const lines = [
    OVERVIEW,
    '',
    heading('Usage'),
    '  holdfast <command> [options]',
    '',
    heading('Commands'),
    ...alignColumns(commands),
    '',
    heading('Examples'),
    ...alignColumns([
      ['  holdfast run backup -- ./backup.sh', 'one backup at a time'],
      ['  holdfast run backup --if-available -- ./backup.sh', 'skip it if one is running'],
      ['  holdfast ls', 'who holds which lease'],
    ]),
    '',
    'holdfast <command> --help shows its options and examples. holdfast --version prints the version.',
  ]
  for (const line of lines) terminal.print(line)
}

export function printHelp(command: Command, terminal: Terminal): void {
  const heading = headingOf(terminal)
  const lines = [
    `${heading('Usage')}  holdfast ${command.usage}`,
    '',
    ...command.description.split('\n\n').flatMap(wrap),
    '',
    heading('Options'),
    ...optionLines({ ...command.options, ...GENERAL_OPTIONS }),
    '',
    heading('Examples'),
    ...command.examples.flatMap(([line, text]) => [`  ${terminal.style('dim', `# ${text}`)}`, `  ${line}`]),
  ]
  for (const line of lines) terminal.print(line)
}

/** Breaks a paragraph into lines that fit a usual terminal. */
function wrap(paragraph: string): string[] {
  return paragraph.match(/\S(?:.{0,98}\S)?(?=\s|$)/gs)?.map((line) => line.replaceAll('\n', ' ')) ?? []
}

function optionLines(options: Options): string[] {
  return alignColumns(
    Object.entries(options).map(([name, { short, value, setting, help }]) => [
      `  ${short ? `-${short}, ` : '    '}--${name}${value ? ` ${value}` : ''}`,
      help + (setting ? ` [${variableOf(name)}]` : ''),
    ]),
  )
}

function headingOf(terminal: Terminal): (text: string) => string {
  return (text) => terminal.style('bold', text)
}
