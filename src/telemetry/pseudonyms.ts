import { shortSha256 } from './sha256.ts'

const MAX_CACHED = 2000

/** Stands for a name by a salted hash: the same name gives the same one, and nobody reads the name from it. */
export function createPseudonyms(salt: string): (name: string) => string {
  const known = new Map<string, string>()
  return (name) => {
    const cached = known.get(name)
    if (cached !== undefined) return cached
    if (known.size >= MAX_CACHED) known.clear()
    const pseudonym = shortSha256(`${salt}\0${name}`)
    known.set(name, pseudonym)
    return pseudonym
  }
}
