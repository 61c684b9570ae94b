/** What a client's events say about its connection, so that errors can name the reason why the backend is silent. */
import { LeaseError, messageOf } from '../base/errors.ts'

export interface Connection {
  /** Why the backend cannot be reached, with the client's own error as `cause`; `undefined`: no trouble is known. */
  trouble(): Error | undefined
  /** `error`, with the trouble of the connection if that explains it. */
  explain(error: LeaseError): LeaseError
  /** Stops listening. */
  stop(): void
}

type Listener = (error?: unknown, node?: unknown) => void
type Emitter = Partial<Record<'on' | 'off', (event: string, listener: Listener) => unknown>>

interface Followed {
  users: number
  /** `undefined`: the client does not tell. */
  wasConnected: boolean | undefined
  isBroken: boolean
  lastError: unknown
  /** The node of a cluster that failed last. */
  node: string | undefined
  readonly unlisten: () => void
}

/** One listener serves all stores of a client, because Node warns about more than ten. */
const followed = new WeakMap<object, Followed>()

/**
 * Listens to the events of a client. Node ends a process whose client has no listener for `error`, and `ioredis`
 * prints such errors. With this listener neither happens: every call that fails because of the connection names the
 * error instead. A listener of the application still receives every event.
 */
export function followConnection(client: object): Connection {
  const state = followed.get(client) ?? follow(client)
  state.users++
  let isStopped = false
  const trouble = () => troubleOf(client)
  return {
    trouble,
    explain: (error) => withTrouble(error, trouble()),
    stop() {
      if (isStopped) return
      isStopped = true
      if (--state.users > 0) return
      state.unlisten()
      followed.delete(client)
    },
  }
}

/** The trouble of a client that some store follows. */
export function troubleOf(client: object): Error | undefined {
  const state = followed.get(client)
  if (!state) return undefined
  const { wasConnected, isBroken, lastError, node } = state
  if (wasConnected !== false && !isBroken && lastError === undefined) return undefined
  return connectionTrouble(wasConnected !== false, lastError, node)
}

/**
 * `error`, with the trouble that a client reported about its connection, if that can be why the store did not answer.
 * The cause of `trouble` is the client's own error.
 */
export function withTrouble(error: LeaseError, trouble: Error | undefined): LeaseError {
  if (!trouble || error.code !== 'store-unavailable') return error
  const { cause = trouble } = trouble
  // The error of the call itself, such as `ECONNREFUSED`, is newer than what the client reported.
  if (/\bE[A-Z]{3,}\b/.test(error.message) || error.message.includes(messageOf(cause))) return error
  const message = `${error.message}; ${trouble.message}`
  return new LeaseError(error.code, message, { cause, resource: error.resource })
}

/** `cause`: the client's own error, if there is one. `address`: where it could not connect. */
export function connectionTrouble(wasConnected: boolean, cause: unknown, address?: string): Error {
  const what = wasConnected ? 'the client has lost its connection' : 'the client has never connected'
  const where = address === undefined ? what : `${what} to ${address}`
  return new Error(cause === undefined ? where : `${where}: ${messageOf(cause)}`, { cause })
}

function follow(client: object): Followed {
  // A `Client` of `pg` reports why it could not connect only here.
  const { connection } = client as { readonly connection?: unknown }
  const listeners = new Map<string, Listener>([
    ['error', failed],
    // Of a cluster of `ioredis`.
    ['node error', failed],
    ['ready', connected],
    ['connect', connected],
    ['close', broken],
    ['end', broken],
  ])
  for (const [event, listener] of listeners) (client as Emitter).on?.(event, listener)
  ;(Object(connection) as Emitter).on?.('error', failed)
  const state: Followed = {
    users: 0,
    wasConnected: isConnected(client),
    isBroken: false,
    lastError: undefined,
    node: undefined,
    unlisten() {
      for (const [event, listener] of listeners) (client as Emitter).off?.(event, listener)
      ;(Object(connection) as Emitter).off?.('error', failed)
    },
  }
  followed.set(client, state)
  return state

  function connected(): void {
    // Both clients of Redis report a socket before the server has let them in.
    if (isConnected(client) === false) return
    state.wasConnected = true
    state.isBroken = false
    state.lastError = undefined
    state.node = undefined
  }
  function broken(): void {
    state.isBroken = true
  }
  function failed(error: unknown, node: unknown): void {
    state.lastError = error
    if (typeof node === 'string') state.node = node
  }
}

/** `undefined`: the client does not tell. */
function isConnected(client: object): boolean | undefined {
  const { status, isReady, isOpen, _connected, totalCount } = client as Record<string, unknown>
  // `ioredis`
  if (typeof status === 'string') return status === 'ready'
  // A client, then a cluster, of `redis`.
  if (typeof isReady === 'boolean') return isReady
  if (typeof isOpen === 'boolean') return isOpen
  // A `Client`, then a `Pool`, of `pg`.
  if (typeof _connected === 'boolean') return _connected
  // A pool also counts the connections that it is opening.
  return totalCount === 0 ? false : undefined
}
