import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { type Launch, Server, type ServerKind } from './server.ts'
import { executable, obtain } from './tools.ts'

const CLUSTER_SIZE = 3
/** The shortest lease is one and a half times the election timeout, rounded up to seconds. */
const FAST_ELECTION = { 'heartbeat-interval': 50, 'election-timeout': 500 }

export const etcd: ServerKind = {
  name: 'etcd',
  variable: 'HOLDFAST_TEST_ETCD_URL',
  packages: ['etcd-server'],
  advice:
    'install etcd 3.4 or newer, or set HOLDFAST_TEST_ETCD_URL to an address such as etcd://127.0.0.1:2379.',

  async find() {
    const program = executable('etcd')
    if (program === undefined) return undefined
    return member(program, 'node', { node: await freePort() }, FAST_ELECTION)
  },

  address: (port) => `etcd://127.0.0.1:${port}`,

  /** Rejects until the server has a leader. */
  async version(address) {
    const url = address.replace(/^etcd:/, 'http:')
    const { health } = (await (await fetch(`${url}/health`)).json()) as { health?: unknown }
    if (health !== 'true') throw new Error(`etcd at ${address} is not healthy`)
    const { etcdserver } = (await (await fetch(`${url}/version`)).json()) as { etcdserver?: unknown }
    return String(etcdserver)
  },
}

/** Three servers that form one cluster. */
export async function startEtcdCluster(): Promise<Server[]> {
  const [found] = await obtain([etcd])
  if (!found) throw new Error('etcd was not found')
  const names = Array.from({ length: CLUSTER_SIZE }, (_, n) => `node${n}`)
  const ports = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await freePort()] as const)),
  )
  // None of them answers before most of them run.
  return Promise.all(names.map((name) => Server.start(etcd, member(found.program, name, ports))))
}

/** `peerPorts`: on which the members of the cluster talk to each other, by their names. */
function member(
  program: string,
  name: string,
  peerPorts: Readonly<Record<string, number>>,
  timing: Readonly<Record<string, number>> = {},
): Launch {
  const peer = (of: string) => `http://127.0.0.1:${peerPorts[of]}`
  const cluster = Object.keys(peerPorts).map((of) => `${of}=${peer(of)}`)
  return {
    program,
    async command(directory, port) {
      const client = `http://127.0.0.1:${port}`
      const options = {
        name,
        'data-dir': join(directory, 'data'),
        'listen-client-urls': client,
        'advertise-client-urls': client,
        'listen-peer-urls': peer(name),
        'initial-advertise-peer-urls': peer(name),
        'initial-cluster': cluster.join(','),
        'log-level': 'error',
        logger: 'zap',
        ...timing,
      }
      const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`)
      // Debian builds it for more kinds of machine than etcd supports by default.
      const arch = { arm64: 'arm64', arm: 'arm', ia32: '386', ppc64: 'ppc64le' }[process.arch as string]
      return {
        file: program,
        args,
        crashSignal: 'SIGKILL',
        ...(arch !== undefined && { env: { ETCD_UNSUPPORTED_ARCH: arch } }),
      }
    },
  }
}
