/** The options of what only runs in Node. */
import type { IncomingMessage } from 'node:http'
import type { LockServerOptions } from '../options.ts'

export interface ServerOptions extends LockServerOptions {
  /** A directory of pages, served at `/`. The first page is its `index.html`. */
  readonly assets?: string | undefined
}

export interface ListenerOptions {
  /** Where the service is, such as `/locks`. Default: at the root. */
  readonly path?: string | undefined
}

export interface SocketsOptions {
  /** Sockets are at `{path}/{key}`. Default `/app`. */
  readonly path?: string | undefined
  /**
   * Origins whose pages may connect besides the server's own, such as `https://app.example.com`. Default: those of
   * the channels, which a lock server takes from its settings. Programs send no origin and may connect.
   */
  readonly origins?: readonly string[] | undefined
  /** The largest frame that a client may send, in bytes. Default 16 384. */
  readonly maxPayload?: number | undefined
  /** How many bytes may be buffered for a client that does not read. With more it is disconnected. Default 1 MiB. */
  readonly maxBuffered?: number | undefined
  /** What the limit of sockets counts. Default: the address of the client, as far as `trustProxy` lets it be known. */
  readonly clientOf?: ((request: IncomingMessage) => string) | undefined
}

export interface SqliteServerOptions {
  /** The table of the leases. The other tables have this name with `_documents` and so on after it. Default `holdfast_leases` and `holdfast_documents`. */
  readonly table?: string | undefined
}
