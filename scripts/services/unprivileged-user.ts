import { run } from './tools.ts'

/** For servers that refuse to run as root. `undefined`: this process is not root. */
export async function unprivilegedUser(
  ...names: readonly string[]
): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (const name of names) {
    try {
      const [uid, gid] = await Promise.all(['-u', '-g'].map((which) => run('id', [which, name])))
      if (uid && gid) return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
    } catch {
      // There is no such user.
    }
  }
  throw new Error(`the server does not run as root; expected a user ${names.join(' or ')}, got neither`)
}
