/** The locks of verrou on a database that knex knows. Both live in `bench/node_modules`. */
export interface VerrouLocks {
  createLock(key: string, ttl: number): VerrouLock
  close(): Promise<unknown>
}

interface VerrouLock {
  /** Asks until it gets the lock. */
  acquire(): Promise<boolean>
  acquireImmediately(): Promise<boolean>
  release(): Promise<void>
}

/** `undefined`, and a line that says so, if it is not installed. */
export async function openVerrou(knexOptions: object): Promise<VerrouLocks | undefined> {
  try {
    const [{ Verrou }, { knexStore }, { default: knex }] = await Promise.all(
      ['@verrou/core', '@verrou/core/drivers/knex', 'knex'].map((name) => import(name)),
    )
    const connection = knex({ ...knexOptions, pool: { max: 10 } })
    const driver = knexStore({ connection, tableName: 'verrou' })
    const locks = new Verrou({ default: 'sql', stores: { sql: { driver } } })
    // The first call creates the table.
    const first: VerrouLock = locks.createLock(crypto.randomUUID(), 1000)
    await first.acquireImmediately()
    await first.release()
    return {
      createLock: (key, ttl) => locks.createLock(key, ttl),
      close: () => connection.destroy(),
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    console.log('verrou is not installed: left out')
    return undefined
  }
}
