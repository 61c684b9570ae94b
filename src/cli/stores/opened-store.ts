import { LeaseError, type LeaseStore } from '../../core/index.ts'
import type { AuditLog, Bus, DocumentStore } from '../../server/index.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'

/** A store that was opened by its URL, with the client under it. */
export interface OpenedStore {
  readonly store: LeaseStore
  /** What the backend tells of itself, for the doctor. */
  examine(): Promise<Examination>
  /** What else a server can keep or send there. */
  serverParts?(): Promise<ServerParts>
  close(): Promise<void>
}

export interface ServerParts {
  readonly documents?: DocumentStore
  readonly audit?: AuditLog
  /** Between the nodes of a server. */
  readonly bus?: Bus
  /** Where secrets that nobody gave are kept, so that sessions outlive a restart. */
  readonly secretsFile?: string
}

export interface Examination {
  /** Such as `Redis 7.4.1 through ioredis`. */
  readonly version: string
  readonly concerns: readonly Concern[]
}

/** Nothing that stops a lease, but something to know or to mend. */
export interface Concern {
  readonly about: string
  readonly remedy: string
}

export interface Opening {
  /** Fail rather than make a file or directory that is not there: who only looks must not create. */
  readonly mustExist?: boolean
  /** Clients elsewhere outlive a power failure here, and must not meet a store that forgot them. */
  readonly isServed?: boolean
}

/** Loads the first of these packages that is installed. */
export async function loadClient<T>(
  scheme: string,
  packages: Readonly<Record<string, () => Promise<T>>>,
): Promise<T> {
  for (const load of Object.values(packages)) {
    try {
      return await load()
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    }
  }
  const [first, ...others] = Object.keys(packages)
  const or = others.length > 0 ? ` (or ${others.join(', ')})` : ''
  throw new Failure(
    EXIT.failed,
    `${scheme} needs a client that is not installed: npm install ${first}${or}, beside holdfast itself`,
  )
}

/** A server was reached and refused who came. `reason`: in its own words. */
export function notLetIn(reason: string, scheme: string, cause: unknown): LeaseError {
  const remedy = `check the user and the password, as in ${scheme}://USER:PASSWORD@host`
  return new LeaseError('store-failed', `the server does not let you in (${reason}); ${remedy}`, { cause })
}

/** Takes one of our own parameters out of a URL, since the client may not know it. */
export function takeParameter(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name) ?? undefined
  url.searchParams.delete(name)
  return value
}

/** The option by that name, or nothing, as options of stores are given. */
export function optional<Name extends string>(
  name: Name,
  value: string | null | undefined,
): { [N in Name]?: string } {
  return (value == null ? {} : { [name]: value }) as { [N in Name]?: string }
}
