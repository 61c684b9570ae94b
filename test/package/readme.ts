import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { root } from '../../scripts/run-tool.ts'

/** The examples of the README that a reader can paste and run, by the names of their files. */
export function readmeExamples(): ReadonlyMap<string, string> {
  const text = readFileSync(join(root, 'README.md'), 'utf8')
  const blocks = text.matchAll(/^```\w+ run (\S+)\n([\s\S]*?)^```/gm)
  return new Map(Array.from(blocks, ([, file = '', code = '']) => [file, code]))
}

/** Pastes an example into its file of a project. */
export async function paste(project: string, file: string): Promise<string> {
  const code = readmeExamples().get(file)
  if (code === undefined) throw new Error(`the README has no example ${file}`)
  await mkdir(dirname(join(project, file)), { recursive: true })
  await writeFile(join(project, file), code)
  return join(project, file)
}

export interface RunningServer extends AsyncDisposable {
  readonly port: number
}

/** Runs the server of the README, on any free port instead of 4321. */
export async function runServer(project: string): Promise<RunningServer> {
  const anyPort = join(import.meta.dirname, 'any-port.mjs')
  const file = await paste(project, 'server.mjs')
  const child = spawn(process.execPath, ['--import', anyPort, file], { cwd: project })
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
