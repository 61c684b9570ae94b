import pg from 'pg'
import { createOnce, postgresJobs } from '../../src/once/index.ts'

export const OURS = 'holdfast/once'

/** One way of running jobs whose work is nothing, so that all of the time goes into keeping their books. */
export interface Runner {
  readonly name: string
  fill(jobs: number): Promise<unknown>
  /** Runs all that are there and says how many. */
  drain(): Promise<number>
  close(): Promise<unknown>
}

export async function openRunners(url: string, lanes: number): Promise<Runner[]> {
  const runners = [onceRunner(url, lanes, OURS, false), onceRunner(url, lanes, `${OURS}, prepared`, true)]
  for (const [name, open] of Object.entries({ 'pg-boss': pgBossRunner, 'graphile-worker': graphileRunner })) {
    try {
      runners.push(await open(url, lanes, await import(name)))
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
      console.log(`${name} is not installed: left out`)
    }
  }
  return runners
}

function onceRunner(url: string, lanes: number, name: string, prepare: boolean): Runner {
  const pool = new pg.Pool({ connectionString: url, max: lanes })
  const jobs = postgresJobs(pool, { table: 'bench_jobs', prepare })
  const once = createOnce(jobs)
  let waiting: string[] = []
  return {
    name,
    async fill(count) {
      waiting = Array.from({ length: count }, () => crypto.randomUUID())
      await jobs.add('first, so that the table is there')
      const text = `insert into bench_jobs (id, status) select id, 'PENDING' from unnest($1::text[]) as id`
      await pool.query(text, [waiting])
    },
    async drain() {
      return inLanes(lanes, async () => {
        const id = waiting.pop()
        return id !== undefined && (await once.run(id, () => null)).ran
      })
    },
    async close() {
      await once.close()
      await pool.end()
    },
  }
}

interface PgBoss {
  start(): Promise<unknown>
  stop(options: object): Promise<unknown>
  createQueue(name: string): Promise<unknown>
  insert(name: string, jobs: object[]): Promise<unknown>
  fetch(name: string): Promise<readonly { readonly id: string }[]>
  complete(name: string, id: string): Promise<unknown>
}

/** By `fetch` and `complete`, since its own loop sleeps for half a second or more between two looks. */
async function pgBossRunner(
  url: string,
  lanes: number,
  { PgBoss }: { readonly PgBoss: new (options: object) => PgBoss },
): Promise<Runner> {
  const boss = new PgBoss({ connectionString: url, max: lanes, supervise: false, schedule: false })
  await boss.start()
  await boss.createQueue('bench')
  return {
    name: 'pg-boss',
    fill: (count) =>
      boss.insert(
        'bench',
        Array.from({ length: count }, () => ({ data: {} })),
      ),
    drain: () =>
      inLanes(lanes, async () => {
        const [job] = await boss.fetch('bench')
        if (job) await boss.complete('bench', job.id)
        return job !== undefined
      }),
    close: () => boss.stop({ graceful: false }),
  }
}

interface Graphile {
  runMigrations(options: object): Promise<unknown>
  runOnce(options: object): Promise<unknown>
  readonly Logger: new (factory: () => () => void) => object
}

async function graphileRunner(url: string, lanes: number, graphile: Graphile): Promise<Runner> {
  const { runMigrations, runOnce, Logger } = graphile
  const pgPool = new pg.Pool({ connectionString: url, max: lanes + 2 })
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  const logger = new Logger(() => () => {})
  let ran = 0
  const taskList = { bench: () => void ran++ }
  await runMigrations({ pgPool, logger })
  return {
    name: 'graphile-worker',
    fill: (count) =>
      pgPool.query(`select graphile_worker.add_job('bench') from generate_series(1, $1)`, [count]),
    async drain() {
      ran = 0
      await runOnce({ pgPool, logger, taskList, concurrency: lanes, noHandleSignals: true })
      return ran
    },
    close: () => pgPool.end(),
  }
}

/** Until a turn finds nothing to do, so many side by side. Says how many turns did something. */
async function inLanes(lanes: number, turn: () => Promise<boolean>): Promise<number> {
  let turns = 0
  const lane = async () => {
    while (await turn()) turns++
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return turns
}
