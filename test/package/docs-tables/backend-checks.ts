import { join } from 'node:path'
import { root } from '../../../scripts/run-tool.ts'
import { REDIS_COMMANDS } from '../../../src/clients/redis-commands.ts'
import { SETTINGS } from '../../../src/configuration/settings.ts'
import { limitsOf } from '../../../src/server/channels/options.ts'
import { manifest } from '../manifest.ts'
import { code, type ExpectedRow, PROSE, plain, type TableCheck } from './compare-table.ts'
import { membersOf } from './declarations.ts'

const PREFIXES = 'memory sqlite postgres redis mysql nats firestore etcd file web'.split(' ')

/** What the names of the factories of each row end with, and where they are exported; a store has a path of its own. */
const PARTS: Readonly<Record<string, readonly [suffix: string, path?: string]>> = {
  '[Leases](guide.md)': ['Store'],
  '[Run once](once.md), `holdfast/once`': ['Jobs', 'holdfast/once'],
  '[Guard](guard.md), `holdfast/guard`': ['Guard', 'holdfast/guard'],
  '[Document contents and fences](server.md), `holdfast/server`': ['Documents', 'holdfast/server'],
  '[Audit trail](server.md), `holdfast/server`': ['Audit', 'holdfast/server'],
  '[Secrets](server.md), `holdfast/server`': ['Secrets', 'holdfast/server'],
  '[Bus between nodes](server.md), `holdfast/server`': ['Bus', 'holdfast/server'],
}

export const BACKEND_CHECKS: readonly TableCheck[] = [
  {
    table: 'docs/stores/redis.md#A user with few rights',
    about: 'the part',
    isOrdered: true,
    rows: () =>
      Object.entries(REDIS_COMMANDS).map(([part, commands]): ExpectedRow => {
        const rights = commands.map((name) => `+${name.replace('|', '\\|')}`)
        return [part, PROSE, code(rights.join(' '))]
      }),
  },
  {
    table: 'docs/backends.md#Which part works on which backend',
    about: 'the part',
    isOrdered: true,
    rows: () =>
      Promise.all(
        Object.entries(PARTS).map(async ([part, [suffix, path]]): Promise<ExpectedRow> => {
          const cells = PREFIXES.map((prefix) =>
            factoryCell(prefix + suffix, path ?? `holdfast/${prefix}`, !path),
          )
          return [part, ...(await Promise.all(cells))]
        }),
      ),
  },
  {
    table: 'docs/websocket.md#Limits',
    about: 'the limit',
    rows: () => [
      ['`maxSockets` of the settings', SETTINGS.maxSockets.usual, PROSE],
      ...Object.entries(limitsOf()).map(
        ([name, limit]): ExpectedRow => [code(`limits.${name}`), String(limit), PROSE],
      ),
      ...membersOf('src/server/node/options.ts', 'SocketsOptions')
        .filter(({ name }) => name.startsWith('max'))
        .map(({ name, usual = '' }): ExpectedRow => [code(name), plain(usual), PROSE]),
    ],
  },
]

/** `namesPath`: the cell says where the factory is exported, because its row does not. */
async function factoryCell(name: string, path: string, namesPath: boolean): Promise<string> {
  if (await isExported(name, path)) return namesPath ? `${code(name)} of ${code(path)}` : code(name)
  return (await isExported(name, `${path}/node`)) ? `${code(name)} of ${code(`${path}/node`)}` : '–'
}

async function isExported(name: string, path: string): Promise<boolean> {
  const target = manifest.exports[path.replace('holdfast', '.')]
  if (target === undefined || typeof target === 'string') return false
  return name in (await import(join(root, target.default.replace('./dist', 'src').replace(/\.js$/, '.ts'))))
}
