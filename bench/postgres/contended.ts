import pg from 'pg'
import { compareDrains } from '../contention/drain.ts'
import { rivalNames } from './rivals.ts'

export async function benchContended(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`create table holdfast_bench.baton (owner text, token bigint not null);
    insert into holdfast_bench.baton values (null, 1)`)
  await client.end()
  await compareDrains({
    title: 'Postgres',
    url,
    rivals: new URL('./rivals.ts', import.meta.url).href,
    names: rivalNames,
    roundsOf: () => 6,
  })
}
