import type { Target } from '../target.ts'

/** Loaded on demand: each imports the part that it tests. */
export const TARGETS = {
  durations: async () => (await import('./durations.ts')).durations,
  'rows-json': async () => (await import('./rows.ts')).jsonRows,
  'rows-file': async () => (await import('./rows.ts')).fileRows,
  'rows-web': async () => (await import('./rows.ts')).webTables,
  'rows-registers': async () => (await import('./rows.ts')).registers,
  'rows-redis': async () => (await import('./rows.ts')).redisRows,
  'rows-etcd': async () => (await import('./rows.ts')).etcdRows,
  'rows-sqlite': async () => (await import('./rows.ts')).sqliteRows,
  'rows-mysql': async () => (await import('./rows.ts')).mysqlRows,
  'lock-file': async () => (await import('./project.ts')).lockFile,
  autosave: async () => (await import('./project.ts')).autosave,
  telemetry: async () => (await import('./telemetry.ts')).telemetry,
  copies: async () => (await import('./copies.ts')).copies,
  http: async () => (await import('./http.ts')).http,
  cookies: async () => (await import('./http.ts')).cookies,
  frames: async () => (await import('./frames.ts')).frames,
  bus: async () => (await import('./frames.ts')).bus,
  answers: async () => (await import('./client.ts')).answers,
  'lock-answers': async () => (await import('./client.ts')).lockAnswers,
  socket: async () => (await import('./client.ts')).socket,
  sync: async () => (await import('./sync.ts')).sync,
  settings: async () => (await import('./settings.ts')).settings,
  environment: async () => (await import('./settings.ts')).environment,
  'command-line': async () => (await import('./command-line.ts')).commandLine,
} satisfies Record<string, () => Promise<Target>>

export type TargetName = keyof typeof TARGETS
