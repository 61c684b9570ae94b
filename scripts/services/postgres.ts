import { globSync } from 'node:fs'
import { chown, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { Command } from './kept-process.ts'
import type { ServerKind } from './server.ts'
import { executable } from './tools.ts'
import { unprivilegedUser } from './unprivileged-user.ts'

export const postgres: ServerKind = {
  name: 'postgres',
  variable: 'HOLDFAST_TEST_POSTGRES_URL',
  packages: ['postgresql'],
  advice: 'install PostgreSQL 14 or newer, or set HOLDFAST_TEST_POSTGRES_URL to the address of a database.',

  async find() {
    // On Debian these programs are not on the PATH. The newest version sorts last.
    const debian = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed()
    const initdb = executable('initdb', debian)
    if (!initdb) return undefined
    const program = join(dirname(initdb), 'postgres')
    const user = await unprivilegedUser('postgres', 'nobody')
    const data = (directory: string) => join(directory, 'data')
    const as = (file: string, args: string[]): Command => ({ file, args, ...user, crashSignal: 'SIGQUIT' })
    return {
      program,
      async prepare(directory) {
        await mkdir(data(directory), { mode: 0o700 })
        if (user) await chown(data(directory), user.uid, user.gid)
        const options = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--no-locale', '--no-sync']
        return as(initdb, ['-D', data(directory), ...options])
      },
      async command(directory, port) {
        const args = ['-D', data(directory), '-h', '127.0.0.1', '-p', String(port), '-k', '']
        return as(program, args)
      },
    }
  },

  address: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,

  async version(address) {
    const client = new pg.Client(address)
    client.on('error', () => {})
    await client.connect()
    try {
      const { rows } = await client.query<{ server_version: string }>('show server_version')
      return rows[0]?.server_version.split(' ')[0] ?? 'unknown version'
    } finally {
      await client.end()
    }
  },
}
