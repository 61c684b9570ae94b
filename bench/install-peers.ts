import { installFolder } from '../scripts/install-folder.ts'

/** The peers want older clients than the library is tested with, so they live in a package of their own. */
export function installPeers(): void {
  installFolder(import.meta.dirname)
}
