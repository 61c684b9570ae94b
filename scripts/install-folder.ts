import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'

/** Installs a folder that has a package of its own, on the first use and after a change of its lock file. */
export function installFolder(folder: string): void {
  const changedAt = (path: string) => statSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json')) return
  console.log(`installing ${folder} …`)
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
}
