import type { Command } from './command.ts'

export interface LazyCommand {
  readonly summary: string
  load(): Promise<Command>
}

/** All commands. Each is loaded only when it is used, so that the others do not slow down its start. */
const COMMANDS = {
  run: lazy('hold a lease while a command runs', async () => (await import('./commands/run.ts')).run),
  ls: lazy('list the leases that are held', async () => (await import('./commands/ls.ts')).ls),
  inspect: lazy('show who holds a lease', async () => (await import('./commands/inspect.ts')).inspect),
  watch: lazy('follow leases as they change', async () => (await import('./commands/watch.ts')).watch),
  release: lazy('end a lease by force', async () => (await import('./commands/release.ts')).release),
  doctor: lazy(
    'check a store, and say what to repair',
    async () => (await import('./commands/doctor.ts')).doctor,
  ),
  migrate: lazy(
    'create or upgrade the tables of a store',
    async () => (await import('./commands/migrate.ts')).migrate,
  ),
  bench: lazy('measure the speed of a store', async () => (await import('./commands/bench.ts')).bench),
  serve: lazy('run the document lock service', async () => (await import('./commands/serve.ts')).serve),
  monitor: lazy(
    'collect, judge and report events',
    async () => (await import('./commands/monitor.ts')).monitor,
  ),
  completion: lazy(
    'print a completion script for a shell',
    async () => (await import('./commands/completion.ts')).completion,
  ),
} satisfies Readonly<Record<string, LazyCommand>>

export type CommandName = keyof typeof COMMANDS

export const CATALOG: Readonly<Record<string, LazyCommand>> = COMMANDS

function lazy(summary: string, load: LazyCommand['load']): LazyCommand {
  return { summary, load }
}

/** `undefined` if there is no such command. */
export function findCommand(name: string | undefined): LazyCommand | undefined {
  return name !== undefined && Object.hasOwn(CATALOG, name) ? CATALOG[name] : undefined
}
