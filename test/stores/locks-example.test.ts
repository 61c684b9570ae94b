import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { HANG_MS } from '../hang-limit.ts'

it('the example of locks loses no addition of its three processes', async () => {
  const main = join(root, 'examples/locks/main.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [main], { timeout: 4 * HANG_MS })
  const lines = stdout.trim().split('\n')
  expect(lines.at(-1)).toBe('60 additions: 60')
  const additions = lines.slice(0, -1).map((line) => Number(/^process \d: (\d+)$/.exec(line)?.[1]))
  expect(additions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
})
