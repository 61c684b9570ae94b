import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

/** Runs a program of this repository's dependencies from its root, with their Node; resolves with its exit code. */
export async function runTool(name: string, ...args: string[]): Promise<number> {
  const { PATH = '' } = process.env
  const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), PATH].join(delimiter) }
  const child = spawn(name, args, { cwd: root, env, stdio: 'inherit' })
  const [code] = await once(child, 'close')
  return code ?? 1
}
