import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root, toolEnvironment } from '../../scripts/run-tool.ts'
import { createLeases } from '../../src/core/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { HANG_MS } from '../hang-limit.ts'

export interface Packed extends AsyncDisposable {
  readonly tarball: string
  /** A project that has installed the package, and React. */
  readonly consumer: string
}

/** The one peer that a part cannot be loaded without. */
const REACT = ['react', '@types/react']

/** What is packed as it is. */
const COPIED = ['package.json', 'README.md', 'LICENSE']

/** All files that the tarball depends on. */
const SOURCES = [
  ...['src/**/*.*', 'web/**/*.*', 'scripts/*.ts', 'README.md', 'LICENSE'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'],
]

const CACHE = join(root, 'node_modules/.cache/holdfast-tarballs')

/** Runs a program; rejects with all that it printed when it fails. */
export async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd, env: toolEnvironment() }).catch(
    (error) => {
      throw new Error(`${program} failed\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout.trim()
}

/** Compiles the project of a `tsconfig.json`. With several threads `tsc` takes twice the processor time. */
export function compileProject(cwd: string, config = '.'): Promise<string> {
  return run(cwd, 'tsc', '-p', config, '--pretty', 'false', '--singleThreaded')
}

/** Packs the package as it would be published, and installs it into a project of the caller's own. */
export async function pack(): Promise<Packed> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-pack-'))
  const clean = () => rm(directory, { recursive: true })
  const tarball = join(directory, 'holdfast.tgz')
  const consumer = join(directory, 'consumer')
  try {
    await copyTarball(tarball)
    await install(tarball, consumer)
    return { tarball, consumer, [Symbol.asyncDispose]: clean }
  } catch (error) {
    await clean()
    throw error
  }
}

/** Of all test files, which run in several processes, one does this work at a time. */
export async function oneAtATime(name: string, work: () => void | Promise<void>): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  await using leases = createLeases(sqliteStore(join(CACHE, 'leases.db')))
  // Work that blocks the process sends no heartbeats.
  await leases.withLease(name, work, { ttl: 4 * HANG_MS, wait: 4 * HANG_MS })
}

/**
 * Test files of several processes need the tarball at the same time. The first of them builds it, and the others find
 * it, until a source changes.
 */
async function copyTarball(target: string): Promise<void> {
  await oneAtATime('tarball', async () => {
    const cached = join(CACHE, `${hashOfSources()}.tgz`)
    if (!existsSync(cached)) {
      for (const old of globSync('*.tgz', { cwd: CACHE })) await rm(join(CACHE, old))
      await buildTarball(cached)
    }
    await cp(cached, target)
  })
}

function hashOfSources(): string {
  const hash = createHash('sha256')
  const files = globSync(SOURCES, { cwd: root }).filter((file) => !file.includes('.test.'))
  for (const file of files.sort()) hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  return hash.digest('hex')
}

/** Builds in a directory of its own, so that it neither needs nor disturbs `dist`. */
async function buildTarball(tarball: string): Promise<void> {
  const build = await mkdtemp(join(tmpdir(), 'holdfast-build-'))
  try {
    await run(root, 'node', 'scripts/build.ts', join(build, 'dist'))
    for (const name of COPIED) await cp(join(root, name), join(build, name), { recursive: true })
    const name = await run(build, 'npm', 'pack', '--ignore-scripts', '--silent')
    // A process that is killed leaves no incomplete tarball: a rename is done at once.
    await cp(join(build, name), `${tarball}.part`)
    await rename(`${tarball}.part`, tarball)
  } finally {
    await rm(build, { recursive: true })
  }
}

async function install(tarball: string, consumer: string): Promise<void> {
  await mkdir(join(consumer, 'node_modules'), { recursive: true })
  await run(consumer, 'tar', '-xzf', tarball)
  await rename(join(consumer, 'package'), join(consumer, 'node_modules/holdfast'))
  for (const dependency of REACT) {
    const place = join(consumer, 'node_modules', dependency)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(root, 'node_modules', dependency), place)
  }
}
