import { createProjectLocks, type ProjectLocks } from '../project/index.ts'

const shared = new Map<string, ProjectLocks>()

/**
 * The project locks of a namespace, for all hooks of this page: so each sees what the others hold. They stay for the
 * life of the page. Between two uses they hold nothing.
 */
export function sharedLocks(namespace: string): ProjectLocks {
  const known = shared.get(namespace)
  if (known) return known
  const locks = createProjectLocks({ namespace })
  // A server renders for many users, and must not keep what each of them names.
  if (globalThis.document) shared.set(namespace, locks)
  return locks
}
