import * as guard from '../../../src/guard/index.ts'
import * as once from '../../../src/once/index.ts'
import { COLUMNS, DOCUMENT_FIELDS } from '../../../src/once/naming.ts'
import { PUSHER_CLOSE } from '../../../src/protocol/index.ts'
import * as server from '../../../src/server/index.ts'
import * as storeKit from '../../../src/store-kit/index.ts'
import { STREAMS } from '../../../src/telemetry/record.ts'
import { manifest } from '../manifest.ts'
import { code, type ExpectedCell, PROSE, type TableCheck } from './compare-table.ts'
import { membersOf, sourceOf, unionOf } from './declarations.ts'

/** Tables whose first column lists all names of something. The other columns are prose. */
export const NAME_CHECKS: readonly TableCheck[] = [
  names('docs/guide.md#The manager 3', 'the call', () =>
    membersOf('src/core/leases.ts', 'Leases').map(({ name }) => name),
  ),
  calls('docs/client.md#The calls', 'src/client/document-lock-types.ts#DocumentLock', [
    'state',
    'url',
    'roomId',
    // Earlier names.
    'takeOver',
    'requestHandOver',
  ]),
  calls('docs/autosave.md#Calls', 'src/autosave/types.ts#AutoSave', [
    'state',
    // Earlier names.
    'snapshot',
    'flushNow',
    'takeOver',
    'dispose',
  ]),
  calls('docs/sync.md#Operations', 'src/sync/sync.ts#Sync', ['isBootstrapped']),
  calls('docs/guide.md#Under load', 'src/core/store.ts#StoreLoad'),
  calls('docs/project-lock.md#The project lock', 'src/project/types.ts#ProjectLockLease'),
  calls('docs/testing.md#Your code', 'src/testing/chaos-store.ts#Faults'),
  calls('docs/client.md#With React 2', 'src/react/document-lock.tsx#CommonProps', ['roomId', 'children'], 3),
  calls('docs/client.md#With React 3', 'src/react/lock-banner.tsx#LockBannerProps', ['onHandOver'], 3),
  names('docs/locks.md#What it does', 'the call or option', () => [
    ...membersOf('src/locks/types.ts', 'LockOptions').map(({ name }) => name),
    ...new Set(membersOf('src/locks/types.ts', 'LockManager').map(({ name }) => name)),
    'close',
  ]),
  names('docs/client.md#What is typed', 'the status', () =>
    phases('src/client/draft/draft-types.ts', 'DraftStatus'),
  ),
  calls('docs/client.md#What is typed 2', 'src/client/draft/draft-types.ts#DraftState', ['status']),
  calls('docs/client.md#What is typed 3', 'src/client/draft/draft-types.ts#Draft', ['state', 'subscribe']),
  names('docs/client.md#The state', 'the phase', () =>
    phases('src/client/lock-state.ts', 'DocumentLockPhase'),
  ),
  names('docs/autosave.md#States', 'the phase', () => phases('src/autosave/types.ts', 'AutoSavePhase')),
  names('docs/server.md#Security', 'the action', () => phases('src/server/identity.ts', 'Action'), 3),
  names('docs/telemetry.md#Collect', 'the stream', () => [...STREAMS]),
  names('docs/guard.md#Reference', 'the export', () => Object.keys(guard)),
  names('docs/once.md#Stores', 'the job store', () =>
    Object.entries(once)
      .filter(([name, value]) => name.endsWith('Jobs') && typeof value === 'function')
      .map(([name]) => name),
  ),
  names(
    'docs/websocket.md#Several nodes',
    'the bus',
    () => Object.keys(server).filter((name) => name.endsWith('Bus')),
    3,
  ),
  {
    table: 'docs/once.md#Stores 2',
    about: 'the field',
    isOrdered: true,
    rows: () =>
      Object.values(DOCUMENT_FIELDS).map((field, index) => [
        code(field),
        code(Object.values(COLUMNS)[index] ?? ''),
        PROSE,
      ]),
  },
  {
    table: 'docs/websocket.md#How it fails',
    about: 'the close code',
    nameOf: (cell) => cell.split(', '),
    // Those of 1000 and more are of WebSockets themselves.
    rows: () =>
      [...Object.values(PUSHER_CLOSE), 1003, 1006, 1007, 1009].map((close) => [String(close), PROSE, PROSE]),
  },
  {
    table: 'docs/stores/your-own.md#The pieces',
    about: 'the export',
    nameOf: spans,
    rows: () => Object.keys(storeKit).map((name) => [name, PROSE]),
  },
  {
    table: 'docs/install.md#Stores',
    about: 'the store',
    nameOf: (cell) => /\[`(.*?)`\]/.exec(cell)?.[1] ?? cell,
    rows: () =>
      Object.keys(manifest.exports)
        .filter(
          (path) =>
            sourceOf('docs/backends.md').includes(`Store\` of \`holdfast${path.slice(1)}\``) ||
            path === './http',
        )
        .map((path) => [`holdfast${path.slice(1)}`, PROSE, PROSE, PROSE]),
  },
]

/** The members of an interface: `file#Interface`. */
function calls(table: string, source: string, except: readonly string[] = [], columns = 2): TableCheck {
  const [file = '', declaration = ''] = source.split('#')
  const found = () => membersOf(file, declaration).map(({ name }) => name)
  return names(
    table,
    'the member',
    () => [...new Set(found())].filter((name) => !except.includes(name)),
    columns,
  )
}

function names(table: string, about: string, all: () => readonly string[], columns = 2): TableCheck {
  const prose: ExpectedCell[] = Array(columns - 1).fill(PROSE)
  return { table, about, nameOf: spans, rows: () => all().map((name) => [name, ...prose]) }
}

function phases(file: string, declaration: string): string[] {
  return unionOf(file, declaration).map(({ name }) => name)
}

/** The names in a cell: "`load()` · `save(content)`" has two. */
function spans(cell: string): string[] {
  return Array.from(cell.matchAll(/`([\w-]+)[^`]*`/g), ([, name = '']) => name).filter(
    (name) => name !== 'await',
  )
}
