import { type CompileOptions, compile, type Program } from '../program.ts'

export type ServerProgram = Pick<typeof import('../../../src/server/create.ts'), 'createLockServer'> &
  Pick<typeof import('../../../src/server/buses/create-bus.ts'), 'createBus'> &
  Pick<typeof import('../../../src/server/documents.ts'), 'memoryDocuments'> &
  Pick<typeof import('../../../src/stores/memory.ts'), 'memoryStore'> &
  Pick<typeof import('../../../src/base/errors.ts'), 'LeaseError' | 'asLeaseError'>

export type PageProgram = Pick<
  typeof import('../../../src/client/index.ts'),
  'createDocumentLock' | 'createDraft'
>

/** The programs that the processes of a simulation run. */
export interface Programs {
  readonly server: Program<ServerProgram>
  readonly page: Program<PageProgram>
}

const SERVER = [
  'server/create.ts',
  'server/buses/create-bus.ts',
  'server/documents.ts',
  'stores/memory.ts',
  'base/errors.ts',
]
const PAGE = ['client/index.ts']

export async function compilePrograms({
  mutations = [],
}: Pick<CompileOptions, 'mutations'> = {}): Promise<Programs> {
  const [server, page] = await Promise.all([
    compile<ServerProgram>(SERVER, { mutations }),
    compile<PageProgram>(PAGE, { mutations, forPages: true }),
  ])
  return { server, page }
}
