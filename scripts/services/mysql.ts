import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import type { Command } from './kept-process.ts'
import type { ServerKind } from './server.ts'
import { executable } from './tools.ts'
import { unprivilegedUser } from './unprivileged-user.ts'

/** MariaDB. For MySQL, set the variable. */
export const mysql: ServerKind = {
  name: 'mysql',
  variable: 'HOLDFAST_TEST_MYSQL_URL',
  // The server and its installer without the service, which would start another server on the default port.
  packages: ['mariadb-server-core', 'mariadb-client-core'],
  advice:
    'install MariaDB 10.6 or newer, or set HOLDFAST_TEST_MYSQL_URL to the address of a database of MariaDB or MySQL 8.',

  async find() {
    const program = executable('mariadbd', ['/usr/sbin'])
    const installer = executable('mariadb-install-db')
    // The installer needs it.
    const defaults = executable('my_print_defaults')
    if (!program || !installer || !defaults) return undefined
    const user = await unprivilegedUser('mysql', 'nobody')
    const data = (directory: string) => join(directory, 'data')
    /** Of its own, because its user may not write into ours. */
    const temporary = (directory: string) => join(directory, 'temporary')
    const as = (directory: string, file: string, args: string[]): Command => ({
      file,
      args: ['--no-defaults', ...args],
      env: { TMPDIR: temporary(directory) },
      ...user,
      crashSignal: 'SIGKILL',
    })
    return {
      program,
      async prepare(directory) {
        for (const folder of [data(directory), temporary(directory)]) {
          await mkdir(folder, { mode: 0o700 })
          if (user) await chown(folder, user.uid, user.gid)
        }
        // It also creates the empty database `test`.
        return as(directory, installer, [
          `--datadir=${data(directory)}`,
          '--auth-root-authentication-method=normal',
        ])
      },
      async command(directory, port) {
        const files = [`--datadir=${data(directory)}`, `--socket=${join(data(directory), 'socket')}`]
        return as(directory, program, [
          ...files,
          `--port=${port}`,
          '--bind-address=127.0.0.1',
          '--skip-name-resolve',
        ])
      },
    }
  },

  address: (port) => `mysql://root@127.0.0.1:${port}/test`,

  async version(address) {
    const connection = await createConnection({ uri: address, connectTimeout: 2000 })
    connection.on('error', () => {})
    try {
      const [rows] = await connection.query('select version() as version')
      return String((rows as { version: unknown }[])[0]?.version)
    } finally {
      await connection.end()
    }
  },
}
