import { Redis } from 'ioredis'
import type { ServerKind } from './server.ts'
import { executable } from './tools.ts'

export const redis: ServerKind = {
  name: 'redis',
  variable: 'HOLDFAST_TEST_REDIS_URL',
  packages: ['redis-server'],
  advice: 'install redis-server 7 or newer, or set HOLDFAST_TEST_REDIS_URL to the address of a server.',

  async find() {
    const program = executable('redis-server')
    if (!program) return undefined
    return {
      program,
      async command(directory, port) {
        const options = { port, bind: '127.0.0.1', dir: directory, appendonly: 'yes', appendfsync: 'always' }
        const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
        return { file: program, args, crashSignal: 'SIGKILL' }
      },
    }
  },

  address: (port) => `redis://127.0.0.1:${port}`,

  async version(address) {
    const client = new Redis(address, { lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => {})
    try {
      await client.connect()
      return /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? 'unknown version'
    } finally {
      client.disconnect()
    }
  },
}
