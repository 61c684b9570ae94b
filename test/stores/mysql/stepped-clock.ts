import type { Connection, Pool, RowDataPacket } from 'mysql2/promise'

/** From now on the procedures of the database read the clock of the session, which `set timestamp` stops and moves. */
export async function makeSteppedClock(client: Connection | Pool, database: string): Promise<void> {
  const [procedures] = await client.query<RowDataPacket[]>('show procedure status where db = ?', [database])
  for (const { Name } of procedures) {
    const name = `${database}.${Name}`
    const [[shown] = []] = await client.query<RowDataPacket[]>(`show create procedure ${name}`)
    const text = String(shown?.['Create Procedure']).replace(
      /^CREATE .*?PROCEDURE `.*?`/,
      `create procedure ${name}`,
    )
    if (!text.includes('sysdate(6)')) continue
    await client.query(`drop procedure ${name}`)
    await client.query(text.replaceAll('sysdate(6)', 'utc_timestamp(6)'))
  }
}
