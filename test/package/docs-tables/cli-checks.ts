import { CATALOG, findCommand } from '../../../src/cli/catalog.ts'
import type { Option } from '../../../src/cli/command.ts'
import { EXIT_MEANING } from '../../../src/cli/exit-codes.ts'
import { RUN_OPTIONS } from '../../../src/cli/run/options.ts'
import { OPEN_BY_SCHEME } from '../../../src/cli/stores/index.ts'
import { SETTINGS, settingOf, variableOf } from '../../../src/configuration/settings.ts'
import { code, type ExpectedRow, PROSE, type TableCheck } from './compare-table.ts'

const PAGE = 'docs/cli.md'

export const CLI_CHECKS: readonly TableCheck[] = [
  {
    table: 'docs/server.md#Settings',
    about: 'the setting',
    isOrdered: true,
    rows: () =>
      Object.entries(SETTINGS).map(([name, { usual, help }]) => [
        code(name),
        usual ? code(usual) : 'none',
        help,
      ]),
  },
  {
    table: `${PAGE}#The command line`,
    about: 'the command',
    isOrdered: true,
    rows: () => Object.entries(CATALOG).map(([name, { summary }]) => [`[\`${name}\`](#${name})`, summary]),
  },
  {
    table: `${PAGE}#Exit codes`,
    about: 'exit code',
    isOrdered: true,
    rows: () => [
      ...Object.entries(EXIT_MEANING),
      // The codes of a shell, for a command that a signal has ended.
      [
        '128 + n',
        'ended by signal n. 141: the reader of standard output, such as `head`, has ended; `serve` and the command of `run` go on',
      ],
    ],
  },
  {
    table: `${PAGE}#Settings`,
    about: 'the flag',
    rows: () => [
      ...Object.entries(RUN_OPTIONS)
        .filter(([, { setting }]) => setting)
        .map(([name, { setting }]): ExpectedRow => {
          const inFile = setting === 'file' ? code(settingOf(name)) : ''
          return [code(`--${name}`), code(variableOf(name)), inFile]
        }),
      ['the settings of `serve`', `${code(variableOf('port'))}, …`, '`port`, …'],
    ],
  },
  {
    table: `${PAGE}#run`,
    about: 'the option',
    rows: () => [
      ...Object.entries(RUN_OPTIONS)
        .filter(([name]) => name !== 'store' && name !== 'config')
        .map(([name, option]): ExpectedRow => [flagOf(name, option), ...helpOf(option)]),
      ['`-s`, `--store`, `--config`, `--json`, `--debug`', '', 'see above'],
    ],
  },
  {
    table: `${PAGE}#Stores`,
    about: 'the store',
    nameOf: (cell) => Array.from(cell.matchAll(/`([a-z+]+):/g), ([, scheme]) => scheme).join(', '),
    rows: () => {
      const schemes = Object.keys(OPEN_BY_SCHEME)
      const opensLike = (one: string, other: string) => OPEN_BY_SCHEME[one] === OPEN_BY_SCHEME[other]
      return schemes
        .map((scheme) => schemes.filter((other) => opensLike(scheme, other)).join(', '))
        .filter((name, index, names) => names.indexOf(name) === index)
        .map((name): ExpectedRow => [name, PROSE, PROSE])
    },
  },
  {
    table: `${PAGE}#monitor`,
    about: 'the action',
    nameOf: (cell) => /`(\w+)/.exec(cell)?.[1] ?? cell,
    rows: async () => {
      const { usage = '' } = (await findCommand('monitor')?.load()) ?? {}
      const [, actions = ''] = /<(.*?)>/.exec(usage) ?? []
      return actions.split('|').map((action) => [action, PROSE])
    },
  },
]

function flagOf(name: string, { short, value }: Option): string {
  return `${short ? `\`-${short}\`, ` : ''}${code(`--${name}${value ? ` ${value}` : ''}`)}`
}

/** The default, and the help, with which the description on the page begins. */
function helpOf({ help }: Option): [usual: string, text: { beginsWith: string }] {
  const [, text = help, usual = ''] = /^(.*?) \(default:? (.*)\)$/.exec(help) ?? []
  const isValue = usual === SETTINGS.ttl.usual || usual.includes('@')
  return [isValue ? code(usual) : usual, { beginsWith: text.replaceAll('"', '`') }]
}
