import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { HANG_MS } from '../hang-limit.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL: postgresUrl = '',
  HOLDFAST_TEST_MYSQL_URL: mysqlUrl = '',
  HOLDFAST_TEST_REDIS_URL: redisUrl = '',
  HOLDFAST_TEST_ETCD_URL: etcdUrl = '',
} = process.env
const run = async (...args: string[]) => {
  const main = join(root, 'examples/job-worker/main.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], { timeout: 4 * HANG_MS })
  return stdout.trim().split('\n')
}
const ran = (lines: readonly string[]) =>
  lines.map((line) => / ran (job-\d+)$/.exec(line)?.[1]).filter((id) => id !== undefined)

describe('the example of job workers', () => {
  it('the example of job workers runs a hundred jobs once each in three processes', async () => {
    const lines = await run('--ttl', '20000')
    expect(new Set(ran(lines)).size).toBe(100)
    expect(ran(lines)).toHaveLength(100)
    expect(lines.some((line) => / skipped job-\d+: (locked|already_finished)$/.test(line))).toBe(true)
    expect(lines.at(-1)).toBe('100 of 100 jobs are READY, 0 recovered from a dead worker')
  })

  it.each([
    ['sqlite', []],
    ['postgres', ['--store', postgresUrl]],
  ])(
    'the example of job workers on %s recovers the job of a worker that was killed',
    async (_store, args) => {
      const lines = await run('--kill', '--jobs', '4', '--work', '3000', '--ttl', '5000', ...args)
      expect(lines).toContain('worker-1 was killed (SIGKILL)')
      expect(lines.some((line) => /worker-[23] recovers job-\d+ \(attempt 2\)/.test(line))).toBe(true)
      expect(lines.at(-1)).toBe('4 of 4 jobs are READY, 1 recovered from a dead worker')
    },
  )

  it.each([mysqlUrl, redisUrl, etcdUrl])(
    'the example of job workers runs jobs once each on %s',
    async (store) => {
      const lines = await run('--jobs', '6', '--ttl', '20000', '--store', store)
      expect(ran(lines).toSorted()).toEqual(Array.from({ length: 6 }, (_, n) => `job-${n + 1}`))
      expect(lines.at(-1)).toBe('6 of 6 jobs are READY, 0 recovered from a dead worker')
    },
  )

  it('the example of job workers explains its options', async () => {
    await expect(run('--jobs', 'many')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--jobs'),
    })
    expect((await run('--help')).join()).toContain('--store')
  })
})
