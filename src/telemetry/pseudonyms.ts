import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

const PSEUDONYM_BYTES = 8
const MAX_CACHED = 2000

/**
 * Replaces names by salted hashes: the same salt and name always give the same 16 hexadecimal digits. The hash is
 * synchronous, unlike Web Crypto's, because records must be complete at once when the process exits.
 */
export function createPseudonyms(salt: string): (name: string) => string {
  const cache = new Map<string, string>()
  return (name) => {
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    if (cache.size >= MAX_CACHED) cache.clear()
    const pseudonym = bytesToHex(sha256(utf8ToBytes(`${salt}\0${name}`)).subarray(0, PSEUDONYM_BYTES))
    cache.set(name, pseudonym)
    return pseudonym
  }
}
