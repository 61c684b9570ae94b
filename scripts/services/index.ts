/**
 * The real servers that the tests use. If the environment variable of a server is set, the tests use that server.
 * Otherwise this starts one, from a program on this machine or from a Debian package that it installs.
 */
import { etcd } from './etcd.ts'
import { firestore } from './firestore.ts'
import { mysql } from './mysql.ts'
import { nats } from './nats.ts'
import { postgres } from './postgres.ts'
import { redis } from './redis.ts'
import { type Launch, Server, type ServerKind, type ServerName } from './server.ts'
import { obtain } from './tools.ts'

export { chromiumPath } from './chromium.ts'
export { startEtcdCluster } from './etcd.ts'
export { firefoxPath } from './firefox.ts'
export { freePort } from './free-port.ts'
export { KeptProcess } from './kept-process.ts'
export { startNatsCluster } from './nats.ts'
export { PostgresPair } from './postgres.ts'
export { SentinelGroup } from './sentinel.ts'
export { Server, type ServerName } from './server.ts'

const KINDS: Record<ServerName, ServerKind> = { redis, postgres, mysql, nats, etcd, firestore }

export const serverNames = Object.keys(KINDS) as readonly ServerName[]

/** The environment variable with the address of such a server. */
export function variableOf(name: ServerName): string {
  return KINDS[name].variable
}

export interface Services extends AsyncDisposable {
  /** The environment variables with the addresses, for programs that use the servers. */
  readonly environment: Readonly<Record<string, string>>
  /** A line for each server: its name, version, address and program. */
  readonly report: readonly string[]
}

/** Starts all of them in parallel, except those with an address in the environment. */
export async function startServices(names: readonly ServerName[]): Promise<Services> {
  const ours = names.filter((name) => !process.env[variableOf(name)])
  const servers = await startServers(ours)
  const environment: Record<string, string> = {
    // Otherwise Google's client searches for the metadata server of a cloud machine, which takes seconds.
    ...(names.includes('firestore') && { METADATA_SERVER_DETECTION: 'none' }),
  }
  try {
    const report = await Promise.all(
      names.map(async (name) => {
        const server = servers.find((started) => started.name === name)
        const address = server?.address ?? process.env[variableOf(name)] ?? ''
        environment[variableOf(name)] = address
        const version = server?.version ?? (await KINDS[name].version(address))
        return `${name} ${version} at ${address}, ${server?.program ?? `from ${variableOf(name)}`}`
      }),
    )
    return { environment, report, [Symbol.asyncDispose]: () => stopAll(servers) }
  } catch (error) {
    await stopAll(servers)
    throw error
  }
}

/** Always starts a new server, which a test may freeze, crash and restart. `env`: more variables of its environment. */
export async function startServer(
  name: ServerName,
  env: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const [server] = await startServers([name], env)
  if (!server) throw new Error(`${name} was not started`)
  return server
}

async function startServers(
  names: readonly ServerName[],
  env: Readonly<Record<string, string>> = {},
): Promise<Server[]> {
  const kinds = names.map((name) => KINDS[name])
  const launches = (await obtain(kinds)).map((launch) => inEnvironment(launch, env))
  const starts = await Promise.allSettled(
    launches.map((launch, index) => Server.start(kinds[index] as ServerKind, launch)),
  )
  const servers = starts.filter((start) => start.status === 'fulfilled').map((start) => start.value)
  const failures = starts.filter((start) => start.status === 'rejected').map((start) => start.reason)
  if (failures.length === 0) return servers
  await stopAll(servers)
  throw new Error(failures.map((error) => error.message).join('\n'), { cause: failures[0] })
}

function inEnvironment(launch: Launch, env: Readonly<Record<string, string>>): Launch {
  return {
    ...launch,
    async command(directory, port) {
      const command = await launch.command(directory, port)
      return { ...command, env: { ...command.env, ...env } }
    },
  }
}

async function stopAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}
