/** The columns of the table: backends, by the names of their files in `cases/backends`, a page of Chromium and an extension. */
export const BACKENDS = [
  ...['memory', 'sqlite', 'file', 'ioredis', 'node-redis', 'pg', 'postgres-js'],
  ...['mysql', 'etcd', 'nats', 'firestore', 'http', 'chromium', 'extension'],
] as const

export type BackendName = (typeof BACKENDS)[number]

/** Where leases are kept. An extension has the stores of a page. */
const STORES = BACKENDS.filter((name) => name !== 'extension')

/** Where jobs are kept. */
const JOBS: readonly BackendName[] = [
  ...(['memory', 'sqlite', 'ioredis', 'node-redis', 'pg', 'postgres-js'] as const),
  ...(['mysql', 'etcd', 'firestore'] as const),
]

/** The backends that an entry of the package is used on. Functions named after a backend are used on that one only. */
export const COLUMNS: Readonly<Record<string, readonly BackendName[]>> = {
  holdfast: STORES,
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
  'holdfast/web': ['chromium'],
  'holdfast/locks': STORES,
  'holdfast/worker-clock': ['chromium'],
  'holdfast/project': ['chromium'],
  'holdfast/autosave': ['chromium'],
  'holdfast/client': ['chromium'],
  'holdfast/react': ['chromium'],
  'holdfast/sync': ['chromium', 'extension'],
  'holdfast/guard': ['memory', 'sqlite', 'ioredis', 'node-redis', 'pg', 'postgres-js', 'mysql', 'etcd'],
  'holdfast/once': JOBS,
  'holdfast/idempotency': JOBS,
  'holdfast/server': ['memory', 'ioredis', 'node-redis', 'pg', 'postgres-js', 'mysql', 'etcd', 'nats'],
  'holdfast/server/node': ['sqlite', 'http'],
  'holdfast/telemetry': ['memory', 'chromium'],
  'holdfast/telemetry/node': ['memory'],
  'holdfast/store-kit': ['memory'],
  'holdfast/testing': ['memory'],
  'holdfast/testing/node': ['http'],
}

/** Functions that are not named after the backends on which they are used. */
const ONLY: Readonly<Record<string, readonly BackendName[]>> = {
  createAnalysisRepo: ['firestore'],
  oidcAuthorize: ['memory'],
  guardTable: ['sqlite', 'pg', 'postgres-js'],
  fenceAllows: ['pg'],
  expectWritten: ['pg'],
  migrateServer: ['pg', 'postgres-js'],
  createPrivateFile: ['sqlite'],
  openSqlite: ['sqlite'],
  ...usedOn(
    'memory',
    ...['createLockServer', 'createChannels', 'resolveSettings', 'settingsOf', 'SETTINGS', 'jsonLog'],
    ...['defaultAuthorize', 'UnreadableContent', 'checkDependencies'],
  ),
  ...usedOn(
    'memory',
    ...['Analysis', 'checkHealth', 'createCollector', 'httpSink', 'incidentMarkdown', 'isRecord'],
    ...['makeThresholds', 'openTelemetrySink', 'pagerDutyEvent', 'postJson', 'receiveTelemetry'],
    ...['renderReport', 'slackMessage'],
  ),
  opfsBuffer: ['chromium'],
  ...usedOn(
    'chromium',
    ...['broadcastMessenger', 'createCoordinator', 'createSync', 'exportCollection', 'importCollection'],
    ...['indexedDbStorage', 'memoryMessengers', 'memoryStorage', 'settingsProblems', 'webLocks'],
  ),
  ...usedOn(
    'http',
    ...['createServer', 'attachSockets', 'nodeListener', 'prometheusMeter', 'loadSettings', 'settingFlags'],
    'Listener',
  ),
}

const CLIENTS: Readonly<Record<string, readonly BackendName[]>> = {
  redis: ['ioredis', 'node-redis'],
  postgres: ['pg', 'postgres-js'],
  chrome: ['extension'],
}

/** Whether an exported function is used on a backend: `redisGuard` on Redis, `createOnce` on all. */
export function belongsTo(value: string, backend: BackendName): boolean {
  const named = /^(memory|sqlite|postgres|redis|mysql|nats|firestore|etcd|chrome)(?=[A-Z])/.exec(value)?.[1]
  return (ONLY[value] ?? CLIENTS[named ?? ''] ?? [named ?? backend]).includes(backend)
}

function usedOn(backend: BackendName, ...values: readonly string[]): Record<string, readonly BackendName[]> {
  return Object.fromEntries(values.map((value) => [value, [backend]]))
}
