import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../../scripts/services/free-port.ts'
import { KeptProcess } from '../../../scripts/services/kept-process.ts'
import { executable, obtain, type Tool } from '../../../scripts/services/tools.ts'
import { HANG_MS } from '../../hang-limit.ts'

export interface Pooler extends AsyncDisposable {
  readonly url: string
}

const TOOL: Tool<string> = {
  name: 'pgbouncer',
  packages: ['pgbouncer'],
  advice: 'install PgBouncer.',
  find: async () => executable('pgbouncer', ['/usr/sbin']),
}

/**
 * PgBouncer. `transaction`: each statement of a client runs on any connection that is free. `session`: a client keeps
 * its connection.
 */
export async function startPgbouncer(
  serverUrl: string,
  mode: 'transaction' | 'session' = 'transaction',
): Promise<Pooler> {
  const [program = ''] = await obtain([TOOL])
  const kept = await KeptProcess.prepare('pgbouncer')
  try {
    const { hostname, port, username, password } = new URL(serverUrl)
    const listenPort = await freePort()
    const config = join(kept.directory, 'pgbouncer.ini')
    const secret = password && `password=${decodeURIComponent(password)}`
    await writeFile(
      config,
      `[databases]
* = host=${hostname} port=${port || 5432} user=${decodeURIComponent(username)} ${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${mode === 'session' ? 50 : 4}
${process.getuid?.() === 0 ? 'user = nobody' : ''}
`,
    )
    await kept.start({ file: program, args: [config], crashSignal: 'SIGKILL' })
    const url = new URL(serverUrl)
    url.host = `127.0.0.1:${listenPort}`
    await answers(url.href, kept)
    return { url: url.href, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() }
  } catch (error) {
    await kept[Symbol.asyncDispose]()
    throw error
  }
}

async function answers(url: string, kept: KeptProcess): Promise<void> {
  const giveUpAt = performance.now() + HANG_MS
  while (performance.now() < giveUpAt) {
    const client = new pg.Client(url)
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('select 1')
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    } finally {
      await client.end().catch(() => {})
    }
  }
  throw new Error(`pgbouncer does not answer: ${await kept.lastOutput()}`)
}
