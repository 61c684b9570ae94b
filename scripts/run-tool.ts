import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

/** Our environment, but the programs of our dependencies, such as Node, come first on the PATH. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '' } = process.env
  return { ...process.env, PATH: [join(root, 'node_modules/.bin'), PATH].join(delimiter) }
}

/** Runs a program in the root of the repository and shows its output. Resolves with its exit code. */
export async function runTool(name: string, ...args: string[]): Promise<number> {
  const child = spawn(name, args, { cwd: root, env: toolEnvironment(), stdio: 'inherit' })
  const [code] = await once(child, 'close')
  return code ?? 1
}
