import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const UPDATE_TRIES = 300
const UPDATE_PAUSE_MS = 1000

/** A program that the tests need and that npm does not install. */
export interface Tool<T> {
  readonly name: string
  /** The Debian packages with this program. */
  readonly packages: readonly string[]
  /** One sentence for a user who must install it. */
  readonly advice: string
  /** How to use it; `undefined` if it is not installed. */
  find(): Promise<T | undefined>
}

/** Finds all tools, and installs missing ones if it runs as root on Debian. Throws a line for each missing tool. */
export async function obtain<T>(tools: readonly Tool<T>[]): Promise<T[]> {
  const missing: Tool<T>[] = []
  for (const tool of tools) if (!(await tool.find())) missing.push(tool)
  if (missing.length > 0 && process.getuid?.() === 0 && executable('apt-get'))
    await install(missing.flatMap((tool) => tool.packages))
  const found = await Promise.all(tools.map((tool) => tool.find()))
  const stillMissing = tools.filter((_, index) => found[index] === undefined)
  if (stillMissing.length > 0)
    throw new Error(stillMissing.map(({ name, advice }) => `${name} is missing: ${advice}`).join('\n'))
  return found.filter((tool) => tool !== undefined)
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
  // One by one, because an unknown package would fail the whole call.
  for (const name of packages)
    process.stderr.write(await aptGet('install', '--yes', '--no-install-recommends', name))
}

/** `apt-get install` waits for another apt-get, such as one at the start of the machine. `apt-get update` does not. */
async function updateLists(): Promise<void> {
  for (let tries = 1; ; tries++) {
    const errors = await aptGet('update')
    if (!errors.includes('Could not get lock') || tries === UPDATE_TRIES)
      return void process.stderr.write(errors)
    await sleep(UPDATE_PAUSE_MS)
  }
}

/** Resolves with its error output, also if it failed. */
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
