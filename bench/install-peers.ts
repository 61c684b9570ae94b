import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The peers want older clients than the library is tested with, so they live in a package of their own, which
 * is installed on the first run and after a change of its lock file.
 */
export function installPeers(): void {
  const lock = changedAt('package-lock.json')
  if (changedAt('node_modules/.package-lock.json') >= lock) return
  console.log('installing the peers to measure against …')
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: import.meta.dirname, stdio: 'inherit' })
}

function changedAt(path: string): number {
  return statSync(join(import.meta.dirname, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
}
