import { globSync } from 'node:fs'
import { root } from '../../../scripts/run-tool.ts'
import { AutoSaveError } from '../../../src/autosave/index.ts'
import {
  type AutoSaveErrorCode,
  LeaseError,
  type LeaseErrorCode,
  type LockErrorCode,
} from '../../../src/base/errors.ts'
import { MISTAKES, messageFor } from '../mistakes.ts'
import { code, type ExpectedCell, type ExpectedRow, PROSE, plain, type TableCheck } from './compare-table.ts'
import { asCell, membersOf, sourceOf, unionOf } from './declarations.ts'

const FILE = 'src/base/errors.ts'
const PAGE = 'docs/errors.md'

export const ERROR_CHECKS: readonly TableCheck[] = [
  ...[`${PAGE}#Codes`, 'docs/guide.md#Errors'].map(
    (table): TableCheck => ({
      table,
      about: 'the code',
      rows: () =>
        unionOf(FILE, 'LeaseErrorCode')
          .filter(({ name }) => name !== 'fallback-conflict')
          .map(({ name, text }) => [code(name), retryable(name), textCell(text)]),
    }),
  ),
  {
    table: `${PAGE}#By call`,
    about: 'the call',
    nameOf: (cell) => cell.replaceAll('`', ''),
    rows: () => Object.entries(THROWING).flatMap(([object, source]) => throwingIn(object, source)),
  },
  {
    table: `${PAGE}#Codes 2`,
    about: 'the code',
    rows: () =>
      [...unionOf(FILE, 'LockErrorCode'), ...unionOf(FILE, 'LeaseErrorCode')]
        .filter(({ name }) => name.includes('lock-') || name === 'fallback-conflict')
        .map(({ name, text }) => [code(name), LOCK_RETRYABLE[name] ?? '', textCell(text)]),
  },
  {
    table: 'docs/project-lock.md#How it fails',
    about: 'the code',
    rows: () => unionOf(FILE, 'LockErrorCode').map(({ name, text }) => [code(name), PROSE, textCell(text)]),
  },
  {
    table: `${PAGE}#Codes 3`,
    about: 'the code',
    rows: () =>
      unionOf(FILE, 'AutoSaveErrorCode').map(({ name, text }): ExpectedRow => {
        const { retryable } = new AutoSaveError(name as AutoSaveErrorCode, '')
        return [code(name), retryable ? 'yes' : 'no', textCell(text)]
      }),
  },
  {
    table: 'docs/sync.md#Operations 2',
    about: 'the code',
    rows: () => {
      const sources = globSync('src/sync/*.ts', { cwd: root, exclude: ['**/*.test.ts'] })
        .map(sourceOf)
        .join('\n')
      const thrown = Array.from(sources.matchAll(/LeaseError\(\s*'([\w-]+)'/g), ([, name = '']) => name)
      // An update of a content script that was overtaken is repeated, so nobody sees `conflict`.
      const seen = new Set(['invalid-argument', ...thrown.filter((name) => name !== 'conflict')])
      return [...seen].map((name) => [code(name), PROSE])
    },
  },
  ...Object.entries(MISTAKES).map(
    ([part, codes]): TableCheck => ({
      table: `${PAGE}#${part}`,
      about: 'the mistake',
      isOrdered: true,
      rows: async () => {
        const rows: ExpectedRow[] = []
        // One after the other, because some open a port or read the clock.
        for (const mistake of codes) rows.push([codeCell(mistake), codeCell(await messageFor(mistake))])
        return rows
      },
    }),
  ),
]

/** The objects whose methods name their codes with `@throws`: `file#Interface`. */
const THROWING: Readonly<Record<string, string>> = {
  leases: 'src/core/leases.ts#Leases',
  lease: 'src/core/lease.ts#Lease',
  once: 'src/once/once.ts#Once',
  memoryGuard: 'src/guard/memory.ts#MemoryGuard',
  postgresGuard: 'src/guard/postgres.ts#PostgresGuard',
  mysqlGuard: 'src/guard/mysql.ts#MysqlGuard',
  sqliteGuard: 'src/guard/sqlite.ts#SqliteGuard',
  redisGuard: 'src/guard/redis.ts#RedisGuard',
  etcdGuard: 'src/guard/etcd.ts#EtcdGuard',
  documentLock: 'src/client/document-lock-types.ts#DocumentLock',
  sync: 'src/sync/sync.ts#Sync',
  projectLocks: 'src/project/types.ts#ProjectLocks',
  autosave: 'src/autosave/types.ts#AutoSave',
}

function throwingIn(object: string, source: string): ExpectedRow[] {
  const [file = '', declaration = ''] = source.split('#')
  const known = ['LeaseErrorCode', 'LockErrorCode', 'AutoSaveErrorCode'].flatMap((union) =>
    unionOf(FILE, union).map(({ name }) => name),
  )
  return membersOf(file, declaration).flatMap(({ name, text }) => {
    const [, list] = /@throws ((?:`[\w-]+`(?:, )?)+)/.exec(text) ?? []
    const unknown = list?.match(/[\w-]+/g)?.filter((one) => !known.includes(one)) ?? []
    if (unknown.length > 0) throw new Error(`${file}: ${name} throws ${unknown}, which is no code`)
    return list ? [[`${object}.${name}`, list]] : []
  })
}

/** Whether another request may succeed. Each place that throws one decides. */
const LOCK_RETRYABLE: Readonly<Record<string, string>> = {
  'web-lock-unsupported': 'no',
  'lock-timeout': 'yes',
  'lock-unavailable': 'no',
  'lock-renewal-failed': 'yes, unless it expired or was denied',
  'lock-release-failed': 'yes',
  'fallback-conflict': 'yes',
} satisfies Record<LockErrorCode | 'fallback-conflict', string>

/** The comment of the code. On the page, some words are links. */
function textCell(text: string): ExpectedCell {
  return { means: asCell(text), meaning: plain }
}

function retryable(name: string): string {
  return new LeaseError(name as LeaseErrorCode, '').retryable ? 'yes' : 'no'
}

/** Code in a table: a message may contain backticks and pipes. */
function codeCell(text: string): string {
  const escaped = text.replaceAll('|', '\\|').replaceAll('\n', ' ')
  return text.includes('`') ? `\`\` ${escaped} \`\`` : `\`${escaped}\``
}
