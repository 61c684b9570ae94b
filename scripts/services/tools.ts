import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const UPDATE_TRIES = 300
const UPDATE_PAUSE_MS = 1000

/** A program from outside npm that the tests need. */
export interface Tool<T> {
  readonly name: string
  /** Debian packages that bring it. */
  readonly packages: readonly string[]
  /** One sentence for those who must get it themselves. */
  readonly advice: string
  /** How to use it, or `undefined` when it is not there. */
  find(): Promise<T | undefined>
}

/** Finds all of them, installs what is missing if it may, or throws with one sentence for each that is. */
export async function obtain<T>(tools: readonly Tool<T>[]): Promise<T[]> {
  const missing: Tool<T>[] = []
  for (const tool of tools) if (!(await tool.find())) missing.push(tool)
  if (missing.length > 0 && process.getuid?.() === 0 && executable('apt-get'))
    await install(missing.flatMap((tool) => tool.packages))
  const found = await Promise.all(tools.map((tool) => tool.find()))
  const lacking = tools.filter((_, index) => found[index] === undefined)
  if (lacking.length > 0)
    throw new Error(lacking.map(({ name, advice }) => `${name} is missing: ${advice}`).join('\n'))
  return found.filter((one) => one !== undefined)
}

export function executable(name: string, extraDirectories: readonly string[] = []): string | undefined {
  const { PATH = '' } = process.env
  const directories = [...PATH.split(delimiter), ...extraDirectories]
  return directories.map((directory) => join(directory, name)).find(isExecutable)
}

export const run = promisify(execFile)

async function install(packages: readonly string[]): Promise<void> {
  console.log(`installing Debian packages: ${packages.join(' ')}`)
  await updateLists()
  // A package that this machine knows no source for must not keep the others away.
  for (const name of packages)
    process.stderr.write(await aptGet('install', '--yes', '--no-install-recommends', name))
}

/** `install` waits for another apt-get, such as that of a machine which has just booted. `update` does not. */
async function updateLists(): Promise<void> {
  for (let tries = 1; ; tries++) {
    const errors = await aptGet('update')
    if (!errors.includes('Could not get lock') || tries === UPDATE_TRIES)
      return void process.stderr.write(errors)
    await sleep(UPDATE_PAUSE_MS)
  }
}

/** Resolves with what it had to complain about, whether it succeeded or not. */
async function aptGet(...args: string[]): Promise<string> {
  const options = ['--quiet', '--quiet', '-o', 'DPkg::Lock::Timeout=300']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
  const { stderr } = await run('apt-get', [...options, ...args], { env }).catch((error) => error)
  return stderr
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
