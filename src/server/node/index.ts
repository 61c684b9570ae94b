// Who makes a server for several nodes replaces `sqliteParts` by one of these.

export { type ConfigurationSources, loadSettings, settingFlags } from '../../configuration/load-node.ts'
export {
  etcdParts,
  mysqlParts,
  natsParts,
  postgresParts,
  redisParts,
} from '../index.ts'
export { type NodeListener, nodeListener } from './node-listener.ts'
export type { ListenerOptions, ServerOptions, SocketsOptions, SqliteServerOptions } from './options.ts'
export { prometheusMeter } from './prometheus.ts'
export { createServer, type HoldfastServer } from './server.ts'
export { type AttachedSockets, attachSockets } from './sockets.ts'
export {
  createPrivateFile,
  openSqlite,
  type SqliteFilePart,
  type SqliteParts,
  sqliteAudit,
  sqliteDocuments,
  sqliteParts,
  sqliteSecrets,
} from './sqlite.ts'
