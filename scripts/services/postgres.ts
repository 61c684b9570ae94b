import { globSync } from 'node:fs'
import { chown, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Command } from './kept-process.ts'
import { type Launch, Server, type ServerKind } from './server.ts'
import { executable, obtain } from './tools.ts'
import { unprivilegedUser } from './unprivileged-user.ts'

const PROBE_EVERY_MS = 20

export const postgres: ServerKind = {
  name: 'postgres',
  variable: 'HOLDFAST_TEST_POSTGRES_URL',
  packages: ['postgresql'],
  advice: 'install PostgreSQL 14 or newer, or set HOLDFAST_TEST_POSTGRES_URL to the address of a database.',

  async find() {
    const programs = findPrograms()
    if (!programs) return undefined
    const options = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--no-locale', '--no-sync']
    return await launchOf(programs, (data) => [programs.initdb, ['-D', data, ...options]])
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

/** A primary, and a standby that follows it without the primary waiting for it. */
export class PostgresPair implements AsyncDisposable {
  readonly primary: Server
  readonly standby: Server

  private constructor(primary: Server, standby: Server) {
    this.primary = primary
    this.standby = standby
  }

  static async start(): Promise<PostgresPair> {
    const [found] = await obtain([postgres])
    const programs = findPrograms()
    if (!found || !programs) throw new Error('postgres was not found')
    const primary = await Server.start(postgres, found)
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
    const copy = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync', '-D']
    try {
      const standby = await Server.start(
        postgres,
        await launchOf(programs, (data) => [programs.basebackup, [...from, ...copy, data]]),
      )
      return new PostgresPair(primary, standby)
    } catch (error) {
      await primary.stop()
      throw error
    }
  }

  /** Resolves when the standby shows all that was committed until now. */
  async waitForStandby(): Promise<void> {
    await using primary = await clientOf(this.primary)
    await using standby = await clientOf(this.standby)
    const [{ lsn }] = await primary.rows('select pg_current_wal_lsn() as lsn')
    for (;;) {
      const [{ behind }] = await standby.rows(`select pg_last_wal_replay_lsn() < '${lsn}'::pg_lsn as behind`)
      if (!behind) return
      await sleep(PROBE_EVERY_MS)
    }
  }

  /** From now on the standby receives no more writes. */
  async stopReplication(): Promise<void> {
    await using standby = await clientOf(this.standby)
    await standby.rows("alter system set primary_conninfo = ''")
    await standby.rows('select pg_reload_conf()')
    while ((await standby.rows('select 1 from pg_stat_wal_receiver')).length > 0) await sleep(PROBE_EVERY_MS)
  }

  /** The primary crashes, and the standby takes its place. Resolves when it takes writes. */
  async failOver(): Promise<void> {
    await this.primary.crash()
    await using standby = await clientOf(this.standby)
    await standby.rows('select pg_promote()')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.primary.stop(), this.standby.stop()])
  }
}

interface Programs {
  readonly initdb: string
  readonly postgres: string
  readonly basebackup: string
}

function findPrograms(): Programs | undefined {
  // On Debian these programs are not on the PATH. The newest version sorts last.
  const debian = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed()
  const initdb = executable('initdb', debian)
  if (!initdb) return undefined
  const basebackup = executable('pg_basebackup', debian) ?? ''
  return { initdb, postgres: join(dirname(initdb), 'postgres'), basebackup }
}

/** `create`: the command that fills the empty data directory. */
async function launchOf(
  programs: Programs,
  create: (data: string) => readonly [string, readonly string[]],
): Promise<Launch> {
  const user = await unprivilegedUser('postgres', 'nobody')
  const dataIn = (directory: string) => join(directory, 'data')
  const as = (file: string, args: readonly string[]): Command => ({
    file,
    args,
    ...user,
    crashSignal: 'SIGQUIT',
  })
  return {
    program: programs.postgres,
    async prepare(directory) {
      const data = dataIn(directory)
      await mkdir(data, { mode: 0o700 })
      if (user) await chown(data, user.uid, user.gid)
      return as(...create(data))
    },
    async command(directory, port) {
      const place = ['-h', '127.0.0.1', '-p', String(port), '-k', '']
      return as(programs.postgres, ['-D', dataIn(directory), ...place])
    },
  }
}

async function clientOf(server: Server) {
  const client = new pg.Client(server.address)
  client.on('error', () => {})
  await client.connect()
  return {
    rows: async (statement: string) => (await client.query(statement)).rows,
    [Symbol.asyncDispose]: () => client.end(),
  }
}
