import postgres from 'postgres'
import { addressOf, type Backend, unique } from '../backend.ts'
import { postgresCases } from '../postgres.ts'

export async function open(): Promise<Backend> {
  const url = addressOf('HOLDFAST_TEST_POSTGRES_URL')
  const sql = postgres(url, { connection: { search_path: unique }, onnotice: () => {} })
  await sql.unsafe(`create schema ${unique}`)
  return {
    cases: postgresCases(
      sql,
      (statement) => sql.unsafe(statement),
      async (work) => (await sql.begin((tx) => work(tx))) as never,
    ),
    async [Symbol.asyncDispose]() {
      await sql.unsafe(`drop schema ${unique} cascade`)
      await sql.end()
    },
  }
}
