import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { HANG_MS } from '../hang-limit.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL: postgres = '',
  HOLDFAST_TEST_MYSQL_URL: mysql = '',
  HOLDFAST_TEST_REDIS_URL: redis = '',
  HOLDFAST_TEST_ETCD_URL: etcd = '',
  FIRESTORE_EMULATOR_HOST: emulator,
  HOLDFAST_CALLERS: callers,
} = process.env
/** Processes start slowly, so this is only a few. `HOLDFAST_CALLERS=50` for more. */
const CALLERS = Number(callers ?? 6)

describe('processes that ask for one result at the same time', () => {
  it.each([
    ['sqlite', ''],
    ['postgres', postgres],
    ['mysql', mysql],
    ['redis', redis],
    ['etcd', etcd],
    ['firestore', `firestore:${emulator && 'holdfast'}`],
  ])(
    'run the work once on %s, and all get the same result',
    async (kind, address) => {
      const directory = await mkdtemp(join(tmpdir(), 'holdfast-result-'))
      const table = `shared_${crypto.randomUUID().slice(0, 8)}`
      const url = kind === 'sqlite' ? `sqlite:${join(directory, 'jobs.db')}` : address
      // Creates the table.
      const opened = await openJobs(url, table)
      await opened.jobs.add('warm up')
      const children: ChildProcess[] = []
      onTestFinished(async () => {
        for (const child of children) child.kill('SIGKILL')
        await opened[Symbol.asyncDispose]()
        await rm(directory, { recursive: true, force: true })
      })
      const start = async () => {
        const child = fork(join(import.meta.dirname, '../once/result-caller.ts'), [url, table], {
          execArgv: [],
        })
        children.push(child)
        const [ready] = await once(child, 'message')
        expect(ready).toBe('ready')
        return child
      }
      const ready = await Promise.all(Array.from({ length: CALLERS }, start))
      const answers = ready.map(async (child) => (await once(child, 'message'))[0])
      for (const child of ready) child.send('go')
      const got = (await Promise.all(answers)) as { ran: boolean; result: unknown }[]
      const [first] = got
      const ran = got.filter((answer) => answer.ran).length
      const equal = got.filter(
        ({ result }) => JSON.stringify(result) === JSON.stringify(first?.result),
      ).length
      if (callers) console.log(`${kind}: ${CALLERS} processes, ${ran} ran, ${equal} equal results`)
      expect(got).toEqual(got.map(({ ran }) => ({ ran, result: first?.result })))
      expect(first?.result).toMatchObject({ by: expect.any(Number) })
      expect(ran).toBe(1)
    },
    callers ? 30 * HANG_MS : undefined,
  )
})
