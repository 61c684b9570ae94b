import pg from 'pg'
import postgres from 'postgres'
import type { PostgresClient } from '../../../src/stores/postgres/index.ts'

export interface Connected {
  readonly client: PostgresClient
  end(): Promise<unknown>
}

/** `startup`: settings for the server, as in `-c name=value`. */
export type Connect = (url: string, application_name: string, startup?: string) => Promise<Connected>

/** Every kind of client that the store accepts. */
export const drivers = {
  async 'pg Pool'(connectionString, application_name, options = '') {
    const client = new pg.Pool({ connectionString, application_name, options })
    client.on('error', () => {})
    return { client, end: () => client.end() }
  },
  async 'pg Client'(connectionString, application_name, options = '') {
    const client = new pg.Client({ connectionString, application_name, options })
    client.on('error', () => {})
    await client.connect()
    return { client, end: () => client.end() }
  },
  async 'postgres.js'(url, application_name) {
    const client = postgres(url, { connection: { application_name }, onnotice: () => {} })
    return { client, end: () => client.end({ timeout: 1 }) }
  },
} satisfies Record<string, Connect>
