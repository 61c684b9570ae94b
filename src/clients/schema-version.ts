/**
 * The version of stored tables, beside the version that this code knows. A newer package may have upgraded them while
 * older nodes run. `oldest` says which versions of the code may still use them; without it none but the newest may.
 */
import { LeaseError } from '../base/errors.ts'
import { warn } from '../base/warn.ts'

export interface SchemaVersion {
  readonly version: number
  /** The oldest version of the code that may use the tables. `null`: not recorded. */
  readonly oldest: number | null
}

const warned = new Set<string>()

/** Whether the tables are newer than this code. Throws if this code may not use them; else warns once. */
export function isNewer(name: string, { version, oldest }: SchemaVersion, known: number): boolean {
  if (version <= known) return false
  const what = `${name} is of version ${version}, and this holdfast knows ${known}`
  if (oldest === null || oldest > known) throw new LeaseError('store-failed', `${what}: update the package`)
  if (!warned.has(what)) warn(`${what}. Both work together; update this package soon.`)
  warned.add(what)
  return true
}
