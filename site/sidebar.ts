/** Every page of `docs` in the order in which the site shows it. `prepare.ts` refuses a page that is missing here. */
export interface Group {
  readonly text: string
  readonly pages: readonly string[]
}

/** The pages that are also written in Japanese. */
export const japanese: Group = {
  text: 'はじめに',
  pages: [
    'ja/README',
    'ja/start/workers',
    'ja/start/jobs',
    'ja/start/documents',
    'ja/start/tabs',
    'ja/start/extension',
  ],
}

export const groups: readonly Group[] = [
  {
    text: 'Start here',
    pages: ['start/workers', 'start/jobs', 'start/documents', 'start/tabs', 'start/extension', 'install'],
  },
  {
    text: 'Leases',
    pages: ['concepts', 'guide', 'sharing', 'guard', 'locks', 'backends', 'which-one'],
  },
  {
    text: 'Stores',
    pages: [
      'stores/redis',
      'stores/postgres',
      'stores/mysql',
      'stores/sqlite',
      'stores/etcd',
      'stores/nats',
      'stores/firestore',
      'stores/file',
      'stores/memory',
      'stores/web',
      'stores/http',
      'stores/your-own',
    ],
  },
  { text: 'Jobs and requests', pages: ['once', 'idempotency', 'recipes'] },
  {
    text: 'Documents',
    pages: ['server', 'client', 'websocket', 'laravel', 'embedding', 'security', 'operations'],
  },
  { text: 'Tabs and extensions', pages: ['project-lock', 'autosave', 'sync'] },
  { text: 'Tools', pages: ['cli', 'telemetry', 'testing', 'verification', 'commonjs'] },
  {
    text: 'Coming from',
    pages: [
      'comparison',
      'migrations/redlock',
      'migrations/redis-semaphore',
      'migrations/verrou',
      'migrations/advisory-locks',
      'migrations/async-mutex',
      'migrations/powertools-idempotency',
      'migrations/proper-lockfile',
      'migrations/laravel',
      'coming-from-extension-storage',
    ],
  },
  { text: 'Reference', pages: ['errors', 'troubleshooting', 'benchmarks', 'sizing'] },
]
