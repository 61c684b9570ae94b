/**
 * The real servers that the tests run against. Each is the one that its environment variable names, or else one
 * of our own, from a program on this machine or from a Debian package that is installed for it.
 */
import { firestore } from './firestore.ts'
import { nats } from './nats.ts'
import { postgres } from './postgres.ts'
import { redis } from './redis.ts'
import { Server, type ServerKind, type ServerName } from './server.ts'
import { obtain } from './tools.ts'

export { chromiumPath } from './chromium.ts'
export type { Server, ServerName } from './server.ts'

const KINDS: Record<ServerName, ServerKind> = { redis, postgres, nats, firestore }

export const serverNames = Object.keys(KINDS) as readonly ServerName[]

/** The environment variable from which a test takes the address of such a server. */
export function variableOf(name: ServerName): string {
  return KINDS[name].variable
}

export interface Services extends AsyncDisposable {
  /** Address by environment variable, for the programs that are to use the servers. */
  readonly environment: Readonly<Record<string, string>>
  /** A line for each: what it is, its version, its address. */
  readonly report: readonly string[]
}

/** Starts all at once, except those that the environment names. */
export async function startServices(names: readonly ServerName[]): Promise<Services> {
  const ours = names.filter((name) => !process.env[variableOf(name)])
  const servers = await startServers(ours)
  const environment: Record<string, string> = {
    // Google's client would look for a cloud machine's metadata server, and wait for it.
    ...(names.includes('firestore') && { METADATA_SERVER_DETECTION: 'none' }),
  }
  try {
    const report = await Promise.all(
      names.map(async (name) => {
        const server = servers.find((one) => one.name === name)
        const address = server?.address ?? process.env[variableOf(name)] ?? ''
        environment[variableOf(name)] = address
        const version = server?.version ?? (await KINDS[name].version(address))
        return `${name} ${version} at ${address}, ${server?.program ?? `as ${variableOf(name)} says`}`
      }),
    )
    return { environment, report, [Symbol.asyncDispose]: () => stopAll(servers) }
  } catch (error) {
    await stopAll(servers)
    throw error
  }
}

/** A server of one's own, whatever the environment names: to be frozen, crashed and restarted at will. */
export async function startServer(name: ServerName): Promise<Server> {
  const [server] = await startServers([name])
  if (!server) throw new Error(`no server ${name}`)
  return server
}

async function startServers(names: readonly ServerName[]): Promise<Server[]> {
  const kinds = names.map((name) => KINDS[name])
  const launches = await obtain(kinds)
  const starts = await Promise.allSettled(
    launches.map((launch, index) => Server.start(kinds[index] as ServerKind, launch)),
  )
  const servers = starts.filter((start) => start.status === 'fulfilled').map((start) => start.value)
  const failures = starts.filter((start) => start.status === 'rejected').map((start) => start.reason)
  if (failures.length === 0) return servers
  await stopAll(servers)
  throw new Error(failures.map((error) => error.message).join('\n'), { cause: failures[0] })
}

async function stopAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}
