import { connect } from '@nats-io/transport-node'
import type { ServerKind } from './server.ts'
import { executable } from './tools.ts'

export const nats: ServerKind = {
  name: 'nats',
  variable: 'HOLDFAST_TEST_NATS_URL',
  packages: ['nats-server'],
  advice:
    'install nats-server 2.9 or newer, or set HOLDFAST_TEST_NATS_URL to the address of one with JetStream.',

  async find() {
    const program = executable('nats-server', ['/usr/sbin'])
    if (!program) return undefined
    return {
      program,
      async command(directory, port) {
        const args = ['-js', '-sd', directory, '-a', '127.0.0.1', '-p', String(port)]
        return { file: program, args, crashSignal: 'SIGKILL' }
      },
    }
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
