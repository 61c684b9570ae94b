import { hasMethods } from './arguments.ts'

/** A method by which the client of each backend is recognised. */
const CLIENT_METHODS: Readonly<Record<string, string>> = {
  sendCommand: 'redis',
  unsafe: 'postgres',
  // Before the next one, which a connection of mysql2 has too.
  execute: 'mysql',
  connect: 'postgres',
  drain: 'nats',
  doc: 'firestore',
  prepare: 'sqlite',
  lease: 'etcd',
}

/** The backend of a client, or of an address, that was given instead of a store; `undefined` if it is neither. */
export function backendOf(value: unknown): string | undefined {
  if (typeof value === 'string')
    return /^(redis|postgres|mysql|nats|etcd|file|http)\w*:/.exec(value)?.[1] ?? 'sqlite'
  for (const method in CLIENT_METHODS) if (hasMethods(value, method)) return CLIENT_METHODS[method]
  return undefined
}
