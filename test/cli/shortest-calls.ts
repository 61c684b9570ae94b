import { CATALOG, type CommandName } from '../../src/cli/catalog.ts'

/** The shortest call of each command, without its store. A command that is missing here does not compile. */
const SHORTEST_CALLS: Readonly<Record<CommandName, readonly string[]>> = {
  run: ['--wait', '1ms', 'job', '--', 'true'],
  ls: [],
  inspect: ['job'],
  watch: [],
  release: ['--force', '--yes', 'job'],
  doctor: [],
  migrate: [],
  bench: ['--duration', '1ms'],
  serve: ['--port', '0', '--start-within', '0ms'],
  monitor: ['score'],
  completion: ['bash'],
}

/** The shortest call of each command that has the option `--store`. */
export async function callsWithStore(): Promise<(readonly [name: string, ...args: string[]])[]> {
  const calls = await Promise.all(
    Object.entries(SHORTEST_CALLS).map(async ([name, args]) => {
      const { options = {} } = (await CATALOG[name]?.load()) ?? {}
      return 'store' in options ? [[name, ...args] as const] : []
    }),
  )
  return calls.flat()
}
