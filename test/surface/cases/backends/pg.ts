import pg from 'pg'
import { addressOf, type Backend, unique } from '../backend.ts'
import { postgresCases } from '../postgres.ts'

export async function open(): Promise<Backend> {
  const connectionString = addressOf('HOLDFAST_TEST_POSTGRES_URL')
  const pool = new pg.Pool({ connectionString, options: `-c search_path=${unique}` })
  await pool.query(`create schema ${unique}`)
  return {
    cases: postgresCases(
      pool,
      (statement) => pool.query(statement),
      async (work) => {
        const client = await pool.connect()
        await client.query('begin')
        const result = await work(client)
        await client.query('commit')
        client.release()
        return result
      },
    ),
    async [Symbol.asyncDispose]() {
      await pool.query(`drop schema ${unique} cascade`)
      await pool.end()
    },
  }
}
