import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../docs/blocks.ts'

/** The path that ends with a server and a page for two people. */
export const DOCUMENTS_PAGE = 'docs/start/documents.md'

/** Pastes an example of a page into its file of a project. */
export async function paste(project: string, page: string, file: string): Promise<string> {
  await mkdir(dirname(join(project, file)), { recursive: true })
  await writeFile(join(project, file), codeOf(page, file))
  return join(project, file)
}

export interface RunningServer extends AsyncDisposable {
  readonly port: number
}

/** Runs the server of docs/start/documents.md, on any free port instead of 4321. */
export async function runServer(project: string): Promise<RunningServer> {
  const freePorts = join(import.meta.dirname, '../docs/ports.mjs')
  const file = await paste(project, DOCUMENTS_PAGE, 'server.mjs')
  const child = spawn(process.execPath, ['--import', freePorts, file], {
    cwd: project,
    env: { ...process.env, HOLDFAST_DOCS_PORTS: project },
  })
  return { port: await portOf(child), [Symbol.asyncDispose]: () => stop(child) }
}

async function portOf(child: ChildProcess): Promise<number> {
  let output = ''
  const found = new Promise<number>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk
      const [, port] = /listening on http:\S+:(\d+)/.exec(output) ?? []
      if (port) resolve(Number(port))
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', () => reject(new Error(`the server ended: ${output}`)))
  })
  return found
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
