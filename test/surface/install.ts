import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from '../package/manifest.ts'
import { pack } from '../package/packed.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A project that has installed the package, its peers and their types. */
    readonly consumer: string
  }
}

/** What the cases need besides the package. */
const FOR_CASES = ['@types/node', '@types/pg', '@types/ws', 'react-dom', '@types/react-dom']

/** Packs the package once for all tests of the surface and installs it, with every peer, into an empty project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const packed = await pack()
  const peers = Object.keys(manifest.peerDependencies).filter((name) => name !== 'react')
  for (const name of [...peers, ...FOR_CASES]) {
    const place = join(packed.consumer, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(root, 'node_modules', name), place)
  }
  await writeFile(join(packed.consumer, 'package.json'), JSON.stringify({ type: 'module' }))
  project.provide('consumer', packed.consumer)
  return () => packed[Symbol.asyncDispose]() as Promise<void>
}
