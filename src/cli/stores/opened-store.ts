import { LeaseError, messageOf } from '../../base/errors.ts'
import type { LeaseStore } from '../../core/index.ts'
import type { JobStore } from '../../once/index.ts'
import type { AuditLog, Bus, DocumentStore, SecretStore } from '../../server/index.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'

/** A store that was opened by its address, with the client that it uses. */
export interface OpenedStore {
  readonly store: LeaseStore
  /** Asks the backend about itself, for `doctor`. */
  backendInfo(): Promise<BackendInfo>
  /** For `doctor`: the commands that this user lacks. Absent: the backend has no rights for single commands. */
  deniedCommands?(): Promise<DeniedCommands>
  /** For `serve`: the parts of the server on the same backend. Absent: it cannot be used for a server. */
  serverParts?(): Promise<ServerParts>
  /** For `migrate`. Absent: opening the store and using its parts creates what they need. */
  migrate?(options: { readonly grantTo?: string }): Promise<{ readonly tables: readonly string[] }>
  /** For `run --once`, in the same backend. Absent: the backend has no jobs. Closing the store closes them. */
  jobs?(): Promise<JobStore>
  close(): Promise<void>
}

export interface BackendInfo {
  /** Such as `Redis 7.4.1 through ioredis`. */
  readonly version: string
  readonly warnings: readonly BackendWarning[]
}

export interface DeniedCommands {
  readonly leases: readonly string[]
  /** Of the other parts of `serve`. */
  readonly serve: readonly string[]
}

/** Leases work, but the user should know or change this. */
export interface BackendWarning {
  readonly text: string
  readonly remedy: string
}

/** All nodes on the same store share them. */
export interface ServerParts {
  readonly documents: DocumentStore
  /** Default: in memory. */
  readonly audit?: AuditLog
  /** Carries events between the nodes of a server. Default: there is one node. */
  readonly bus?: Bus
  readonly secrets?: SecretStore
  /** Keeps the secrets that the server generates, so that sessions outlive a restart. */
  readonly secretsFile?: string
}

export interface OpenOptions {
  /** Fail if the file or directory does not exist, for commands that only read. Default: create it. */
  readonly mustExist?: boolean
  /** Clients on other machines outlive a power failure here, so no granted lease may be forgotten. */
  readonly isServed?: boolean
  /** How long to try again if the server cannot be reached, in milliseconds. Default 0. */
  readonly retryFor?: number
  /** Ends the tries: opening rejects with its reason. */
  readonly signal?: AbortSignal
  /** Called with what takes time now, and with an empty text when nothing does. */
  readonly onStep?: (text: string) => void
  /** Called with the first failure that is retried. */
  readonly onRetry?: (failure: Error) => void
}

/** Loads the first of these packages that is installed. */
export async function loadClient<T>(
  backend: string,
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
    `${backend} needs a client that is not installed; run npm install ${first}${or} where holdfast is installed`,
  )
}

/**
 * Asks the store once. Fails now if the server cannot be reached or refuses us; later calls of the store retry instead.
 * `isDenied`: whether the cause of an error is a wrong user or password.
 */
export async function firstAnswer(
  { store, close }: Pick<OpenedStore, 'store' | 'close'>,
  scheme: string,
  isDenied: (cause: unknown) => boolean,
): Promise<void> {
  await store.read(['-']).catch(async (error: LeaseError) => {
    await close().catch(() => {})
    const { cause } = error
    throw isDenied(cause) ? accessDenied(messageOf(cause), scheme, cause) : error
  })
}

/** The server was reached, but refused the user. `reason`: in the words of the server. */
export function accessDenied(reason: string, scheme: string, cause: unknown): LeaseError {
  const remedy = `check the user and the password, as in ${scheme}://USER:PASSWORD@host`
  return new LeaseError('store-failed', `the server does not let you in (${reason}); ${remedy}`, { cause })
}

/** The server accepted the connection and ended it without an answer. */
export function closedByServer(backend: string, cause: unknown): LeaseError {
  return new LeaseError('store-unavailable', `${backend}: the server closed the connection`, { cause })
}

/** Takes one of our own parameters out of a URL, since the client may not know it. */
export function takeParameter(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name) ?? undefined
  url.searchParams.delete(name)
  return value
}

/** `{ [name]: value }`, or `{}` if there is no value. */
export function optional<Name extends string>(
  name: Name,
  value: string | null | undefined,
): { [N in Name]?: string } {
  return (value == null ? {} : { [name]: value }) as { [N in Name]?: string }
}
