import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { installFolder } from '../../scripts/install-folder.ts'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from '../package/manifest.ts'
import { oneAtATime, pack } from '../package/packed.ts'
import { type Block, programOf } from './blocks.ts'
import { DocsServers } from './servers.ts'

/** What the pages tell a reader to install, beside the package and its peers. */
const READERS_PACKAGES = [
  ...['@types/chrome', '@types/express', '@types/node', '@types/pg', '@types/react', '@types/react-dom'],
  ...[
    '@types/ws',
    '@vitejs/plugin-react',
    'express',
    'fastify',
    'google-auth-library',
    'laravel-echo',
    'pusher',
    'pusher-js',
  ],
  ...['@hono/node-server', 'hono', 'react-dom', 'typescript', 'valibot', 'vite', 'vitest', 'ws'],
]
const READERS_TOOLS = ['tsc', 'vite', 'vitest']

/** A block in a directory of its own, with the files of the earlier blocks of its page. */
export interface PlacedBlock {
  readonly block: Block
  /** The reader's project. */
  readonly directory: string
  /** The path of the block in it. */
  readonly file: string
  /** The same of the server that runs meanwhile. */
  readonly server?: PlacedBlock
}

/** Projects of readers who have installed the packed package, and the servers that their pages name. */
export class Sandbox implements AsyncDisposable {
  readonly directory: string
  readonly servers: DocsServers
  readonly #stack: AsyncDisposableStack

  private constructor(directory: string, servers: DocsServers, stack: AsyncDisposableStack) {
    this.directory = directory
    this.servers = servers
    this.#stack = stack
  }

  static async create(): Promise<Sandbox> {
    await using stack = new AsyncDisposableStack()
    const packed = stack.use(await pack())
    const directory = packed.consumer
    await mkdir(join(directory, 'home'))
    await addReadersPackages(join(directory, 'node_modules'))
    const servers = stack.use(new DocsServers(directory))
    return new Sandbox(directory, servers, stack.move())
  }

  /** Writes a block and the files that its page has shown before it. */
  async place(block: Block): Promise<PlacedBlock> {
    const directory = join(this.directory, 'pages', block.page.replaceAll('/', '~'), String(block.line))
    await rm(directory, { recursive: true, force: true })
    const file = block.file ?? fileNameOf(block)
    const { server } = block
    const serverFile = server && (server.file ?? `server.${server.language}`)
    const files = new Map([
      ['package.json', '{ "type": "module" }'],
      ...block.files,
      ...(serverFile ? [[serverFile, textOf(server)] as const] : []),
      [file, textOf(block)],
    ])
    for (const [path, text] of files) {
      await mkdir(dirname(join(directory, path)), { recursive: true })
      await writeFile(join(directory, path), text)
      if (path.endsWith('.sh')) await chmod(join(directory, path), 0o755)
    }
    return {
      ...{ block, directory, file },
      ...(serverFile && { server: { block: server, directory, file: serverFile } }),
    }
  }

  /** The environment of a program in which the usual ports are those of the test. */
  async environmentFor(placed: PlacedBlock): Promise<NodeJS.ProcessEnv> {
    const { ports, variables } = await this.servers.prepare(placed)
    const { PATH = '' } = process.env
    const programs = [join(this.directory, 'node_modules/.bin'), dirname(process.execPath)]
    return {
      ...variables,
      PATH: [...programs, PATH].join(delimiter),
      HOME: join(this.directory, 'home'),
      HOLDFAST_DOCS_PORTS: ports,
      NODE_OPTIONS: `--import ${join(import.meta.dirname, 'ports.mjs')}`,
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

function textOf(block: Block): string {
  return block.language === 'sh' ? block.code : programOf(block)
}

function fileNameOf({ language, role }: Block): string {
  return role === 'test' ? `example.test.${language}` : `example.${language}`
}

async function addReadersPackages(modules: string): Promise<void> {
  for (const name of [...Object.keys(manifest.peerDependencies), ...READERS_PACKAGES])
    await link(join(root, 'node_modules', name), join(modules, name))
  for (const folder of ['recipes', 'migrations']) {
    const path = join(import.meta.dirname, '..', folder)
    await oneAtATime(folder, () => installFolder(path))
    const { dependencies } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    for (const name of Object.keys(dependencies))
      await link(join(path, 'node_modules', name), join(modules, name))
  }
  for (const tool of READERS_TOOLS)
    await link(join(root, 'node_modules/.bin', tool), join(modules, '.bin', tool))
  await link(join(import.meta.dirname, 'curl.sh'), join(modules, '.bin/curl'))
  const command = join(modules, 'holdfast', manifest.bin.holdfast)
  await chmod(command, 0o755)
  await link(command, join(modules, '.bin/holdfast'))
}

async function link(target: string, path: string): Promise<void> {
  if (existsSync(path)) return
  await mkdir(dirname(path), { recursive: true })
  await symlink(target, path)
}
