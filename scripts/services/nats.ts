import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '@nats-io/transport-node'
import { freePort } from './free-port.ts'
import { type Launch, Server, type ServerKind } from './server.ts'
import { executable, obtain } from './tools.ts'

const CLUSTER_SIZE = 3
const PROBE_EVERY_MS = 50

export const nats: ServerKind = {
  name: 'nats',
  variable: 'HOLDFAST_TEST_NATS_URL',
  packages: ['nats-server'],
  advice:
    'install nats-server 2.9 or newer, or set HOLDFAST_TEST_NATS_URL to the address of one with JetStream.',

  async find() {
    const program = executable('nats-server', ['/usr/sbin'])
    if (!program) return undefined
    return { program, command: commandOf(program) }
  },

  address: (port) => `nats://127.0.0.1:${port}`,

  async version(address) {
    const connection = await connect({ servers: address, reconnect: false, timeout: 2000 })
    try {
      if (!connection.info?.jetstream)
        throw new Error(`${address} has no JetStream: start nats-server with -js`)
      return connection.info.version
    } finally {
      await connection.close()
    }
  },
}

/** Three servers that form one cluster. A client hears of no other addresses than those that it was given. */
export async function startNatsCluster(): Promise<Server[]> {
  const [found] = await obtain([nats])
  if (!found) throw new Error('nats was not found')
  const ports = await Promise.all(Array.from({ length: CLUSTER_SIZE }, () => freePort()))
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(',')
  const launch = (port: number) => ({
    program: found.program,
    command: commandOf(
      ...[found.program, '-n', `node-${port}`, '--cluster_name', 'holdfast', '--no_advertise'],
      ...['--cluster', `nats://127.0.0.1:${port}`, '--routes', routes],
    ),
  })
  const servers = await Promise.all(ports.map((port) => Server.start(nats, launch(port))))
  await untilJetStreamAnswers(servers)
  return servers
}

function commandOf(program: string, ...more: readonly string[]): Launch['command'] {
  return async (directory, port) => ({
    file: program,
    args: ['-js', '-sd', directory, '-a', '127.0.0.1', '-p', String(port), ...more],
    crashSignal: 'SIGKILL',
  })
}

/** A server answers before the cluster has chosen the leader of JetStream. */
async function untilJetStreamAnswers(servers: readonly Server[]): Promise<void> {
  const connection = await connect({ servers: servers.map(({ address }) => address) })
  try {
    for (;;) {
      const answer = await connection.request('$JS.API.INFO', '', { timeout: 1000 }).catch(() => undefined)
      if (answer && !answer.json<{ error?: object }>().error) return
      await sleep(PROBE_EVERY_MS)
    }
  } finally {
    await connection.close()
  }
}
