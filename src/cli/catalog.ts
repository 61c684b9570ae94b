import type { Command } from './command.ts'

export interface LazyCommand {
  readonly summary: string
  load(): Promise<Command>
}

/** All commands. Each is loaded only when it is used, so that the others do not slow down its start. */
export const CATALOG: Readonly<Record<string, LazyCommand>> = {
  run: {
    summary: 'hold a lease while a command runs',
    load: async () => (await import('./commands/run.ts')).run,
  },
  ls: {
    summary: 'list the leases that are held',
    load: async () => (await import('./commands/ls.ts')).ls,
  },
  inspect: {
    summary: 'show who holds a lease',
    load: async () => (await import('./commands/inspect.ts')).inspect,
  },
  watch: {
    summary: 'follow leases as they change',
    load: async () => (await import('./commands/watch.ts')).watch,
  },
  release: {
    summary: 'end a lease by force',
    load: async () => (await import('./commands/release.ts')).release,
  },
  doctor: {
    summary: 'check a store, and say what to repair',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  migrate: {
    summary: 'create or upgrade the tables of a store',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  bench: {
    summary: 'measure the speed of a store',
    load: async () => (await import('./commands/bench.ts')).bench,
  },
  serve: {
    summary: 'run the document lock service',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  monitor: {
    summary: 'collect, judge and report events',
    load: async () => (await import('./commands/monitor.ts')).monitor,
  },
  completion: {
    summary: 'print a completion script for a shell',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
}

/** `undefined` if there is no such command. */
export function findCommand(name: string | undefined): LazyCommand | undefined {
  return name !== undefined && Object.hasOwn(CATALOG, name) ? CATALOG[name] : undefined
}
