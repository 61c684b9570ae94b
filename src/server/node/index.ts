// Who makes a server for several nodes replaces `sqliteParts` by one of these.

export { type ConfigurationSources, loadSettings, settingFlags } from '../../configuration/load-node.ts'
export {
  etcdParts,
  mysqlParts,
  natsParts,
  postgresParts,
  redisParts,
} from '../index.ts'
export { type ListenerOptions, type NodeListener, nodeListener } from './node-listener.ts'
export { prometheusMeter } from './prometheus.ts'
export { createServer, type HoldfastServer, type ServerOptions } from './server.ts'
export { type AttachedSockets, attachSockets, type SocketsOptions } from './sockets.ts'
export {
  createPrivateFile,
  openSqlite,
  type SqliteFilePart,
  type SqliteParts,
  type SqliteServerOptions,
  sqliteAudit,
  sqliteDocuments,
  sqliteParts,
  sqliteSecrets,
} from './sqlite.ts'
