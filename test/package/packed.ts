import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root, toolEnvironment } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'

export interface Packed extends AsyncDisposable {
  readonly tarball: string
  /** A project that has installed the package with its dependencies, and React. */
  readonly consumer: string
}

/** The one peer that a part cannot be loaded without. */
const REACT = ['react', '@types/react']

/** Runs a program; rejects with all that it printed when it fails. */
export async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd, env: toolEnvironment() }).catch(
    (error) => {
      throw new Error(`${program} failed\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout.trim()
}

/** Builds and packs in a directory of its own, so that it neither needs nor disturbs `dist`. */
export async function pack(): Promise<Packed> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-pack-'))
  const clean = () => rm(directory, { recursive: true })
  try {
    return { ...(await packInto(directory)), [Symbol.asyncDispose]: clean }
  } catch (error) {
    await clean()
    throw error
  }
}

async function packInto(directory: string): Promise<Pick<Packed, 'tarball' | 'consumer'>> {
  const build = join(directory, 'build')
  const consumer = join(directory, 'consumer')
  await mkdir(join(consumer, 'node_modules'), { recursive: true })
  await run(root, 'node', 'scripts/build.ts', join(build, 'dist'))
  for (const name of ['package.json', 'LICENSE', 'docs'])
    await cp(join(root, name), join(build, name), { recursive: true })
  const name = await run(
    build,
    'npm',
    'pack',
    '--ignore-scripts',
    '--silent',
    '--pack-destination',
    directory,
  )
  const tarball = join(directory, name)
  await run(consumer, 'tar', '-xzf', tarball)
  await rename(join(consumer, 'package'), join(consumer, 'node_modules/holdfast'))
  for (const dependency of [...Object.keys(manifest.dependencies), ...REACT]) {
    const place = join(consumer, 'node_modules', dependency)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(root, 'node_modules', dependency), place)
  }
  return { tarball, consumer }
}
