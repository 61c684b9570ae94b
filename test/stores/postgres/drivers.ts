import pg from 'pg'
import postgres from 'postgres'
import type { PostgresClient } from '../../../src/stores/postgres/index.ts'

export interface Driver {
  readonly client: PostgresClient
  end(): Promise<unknown>
}

export const serverUrl = process.env['HOLDFAST_TEST_POSTGRES_URL'] ?? ''

/** Each client of each package that the store takes. */
export const drivers = {
  async 'pg Pool'(connectionString: string, application_name: string, options?: string): Promise<Driver> {
    const client = new pg.Pool({ connectionString, application_name, ...(options && { options }) })
    client.on('error', () => {})
    return { client, end: () => client.end() }
  },
  async 'pg Client'(connectionString: string, application_name: string, options?: string): Promise<Driver> {
    const client = new pg.Client({ connectionString, application_name, ...(options && { options }) })
    client.on('error', () => {})
    await client.connect()
    return { client, end: () => client.end() }
  },
  async 'postgres.js'(connectionString: string, application_name: string, options?: string): Promise<Driver> {
    const connection = { application_name, ...(options && { options }) }
    const client = postgres(connectionString, { connection, onnotice: () => {} })
    return { client, end: () => client.end({ timeout: 1 }) }
  },
}
