import { type CompileOptions, compile, type Program } from '../program.ts'
import type { PartName } from './plan.ts'

export type DatabaseProgram = Pick<typeof import('../../../src/stores/memory.ts'), 'memoryStore'> &
  Pick<typeof import('../../../src/server/documents.ts'), 'memoryDocuments'> &
  Pick<typeof import('../../../src/once/memory-jobs.ts'), 'memoryJobs'>

export type ServerProgram = Pick<typeof import('../../../src/server/create.ts'), 'createLockServer'> &
  Pick<typeof import('../../../src/server/buses/create-bus.ts'), 'createBus'> &
  ErrorProgram

export type PageProgram = Pick<
  typeof import('../../../src/client/index.ts'),
  'createDocumentLock' | 'createDraft'
>

export type WorkerProgram = Pick<
  typeof import('../../../src/once/index.ts'),
  'createOnce' | 'createTaskHandler'
> &
  ErrorProgram

export type ExtensionProgram = Pick<
  typeof import('../../../src/sync/index.ts'),
  'createSync' | 'createCoordinator' | 'chromeStorage' | 'chromeMessenger' | 'webLocks'
>

export type EditorProgram = Pick<typeof import('../../../src/autosave/index.ts'), 'createAutoSave'>

/** What every program has that calls the database. */
export type ErrorProgram = Pick<typeof import('../../../src/base/errors.ts'), 'LeaseError' | 'asLeaseError'>

/** The programs that the processes of a simulation run. */
export interface Programs {
  readonly database: Program<DatabaseProgram>
  readonly server: Program<ServerProgram>
  readonly page: Program<PageProgram>
  readonly worker: Program<WorkerProgram>
  readonly extension: Program<ExtensionProgram>
  readonly editor: Program<EditorProgram>
}

const DATABASE = ['stores/memory.ts', 'server/documents.ts', 'once/memory-jobs.ts']
const SERVER = ['server/create.ts', 'server/buses/create-bus.ts', 'base/errors.ts']
const PAGE = ['client/index.ts']
const WORKER = ['once/index.ts', 'base/errors.ts']
const EXTENSION = ['sync/index.ts']
const EDITOR = ['autosave/index.ts']

/** Those that are needed for these parts. */
export async function compilePrograms(
  cast: readonly PartName[],
  { mutations = [] }: Pick<CompileOptions, 'mutations'> = {},
): Promise<Programs> {
  const compileFor = <Exports>(part: PartName, files: readonly string[], forPages: boolean) =>
    cast.includes(part) ? compile<Exports>(files, { mutations, forPages }) : absent
  const [database, server, page, worker, extension, editor] = await Promise.all([
    compile<DatabaseProgram>(DATABASE, { mutations }),
    compileFor<ServerProgram>('documents', SERVER, false),
    compileFor<PageProgram>('documents', PAGE, true),
    compileFor<WorkerProgram>('jobs', WORKER, false),
    compileFor<ExtensionProgram>('sync', EXTENSION, true),
    compileFor<EditorProgram>('autosave', EDITOR, true),
  ])
  return { database, server, page, worker, extension, editor }
}

function absent(): never {
  throw new Error('this part is not in the run')
}
