/** The columns of the table: backends, by the names of their files in `cases/backends`. */
export const BACKENDS = [
  ...['memory', 'sqlite', 'file', 'ioredis', 'node-redis', 'pg', 'postgres-js'],
  ...['mysql', 'etcd', 'nats', 'firestore', 'http'],
] as const

export type BackendName = (typeof BACKENDS)[number]

/** The backends that an entry of the package is used on. Functions named after a backend are used on that one only. */
export const COLUMNS: Readonly<Record<string, readonly BackendName[]>> = {
  holdfast: BACKENDS,
  'holdfast/memory': ['memory'],
  'holdfast/sqlite': ['sqlite'],
  'holdfast/file': ['file'],
  'holdfast/redis': ['ioredis', 'node-redis'],
  'holdfast/postgres': ['pg', 'postgres-js'],
  'holdfast/mysql': ['mysql'],
  'holdfast/etcd': ['etcd'],
  'holdfast/nats': ['nats'],
  'holdfast/firestore': ['firestore'],
  'holdfast/http': ['http'],
}

/** Entries without cases. The list becomes empty; a new entry belongs into `COLUMNS`. */
export const NOT_YET = [
  ...['holdfast/web', 'holdfast/locks', 'holdfast/store-kit', 'holdfast/project', 'holdfast/worker-clock'],
  ...[
    'holdfast/autosave',
    'holdfast/guard',
    'holdfast/once',
    'holdfast/telemetry',
    'holdfast/telemetry/node',
  ],
  ...[
    'holdfast/sync',
    'holdfast/server',
    'holdfast/server/node',
    'holdfast/testing',
    'holdfast/testing/node',
  ],
  ...['holdfast/client', 'holdfast/react'],
] as readonly string[]

const CLIENTS: Readonly<Record<string, readonly BackendName[]>> = {
  redis: ['ioredis', 'node-redis'],
  postgres: ['pg', 'postgres-js'],
}

/** Whether a call or an option is used on a backend: `redisGuard` and `RedisGuard.set` on Redis, others on all. */
export function belongsTo(name: string, backend: BackendName): boolean {
  const named = /^(memory|sqlite|postgres|redis|mysql|nats|firestore|etcd)(?=[A-Z.])/i
    .exec(name)?.[1]
    ?.toLowerCase()
  return named === undefined || (CLIENTS[named] ?? [named]).includes(backend)
}
