import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { acquires, linesOf, NOON, WINDOW } from '../../test/telemetry/records.ts'
import { scoreFiles } from './score-node.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-score-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const put = (name: string, content: string | Uint8Array) => writeFileSync(join(directory, name), content)
const remove = (name: string) => rmSync(join(directory, name), { force: true })
const lines = linesOf(acquires(0, 40, 0))
const name = '2030-01-01.00000001.001.jsonl'

async function acquiresCounted(onProgress?: () => void): Promise<number | undefined> {
  const { health } = await scoreFiles({ directory, ...(onProgress && { onProgress }) }, NOON + WINDOW)
  return health.windows[0]?.acquires
}

it('scoring counts a file once while its original and its compressed copy both exist', async () => {
  put(name, lines)
  put(`${name}.gz`, gzipSync(lines))
  expect(await acquiresCounted()).toBe(40)
})

it('scoring counts a file that another process compresses during the reading', async () => {
  const long = 'x'.repeat(5 * 2 ** 20)
  put('2030-01-01.00000000.001.jsonl', long)
  put(name, lines)
  const compress = () => {
    put(`${name}.gz`, gzipSync(lines))
    remove(name)
  }
  expect(await acquiresCounted(compress)).toBe(40)
})

it('scoring names the file that is missing', async () => {
  const gone = join(directory, name)
  await expect(scoreFiles({ files: [gone] }, NOON)).rejects.toMatchObject({
    code: 'invalid-argument',
    message: expect.stringContaining(gone),
  })
})

it('scoring names the lines that it skipped, and counts the rest', async () => {
  const [line = ''] = lines.split('\n')
  put(name, `${lines}\nnot JSON\n${line.replace('"v":1', '"v":2')}\n${line.slice(0, 30)}`)
  put('2030-01-01.00000002.001.jsonl', lines)
  const cut = gzipSync(lines + lines)
  put('2030-01-01.00000003.001.jsonl.gz', cut.subarray(0, cut.length - 20))
  const { health, skippedLines } = await scoreFiles({ directory }, NOON + WINDOW)
  const at = join(directory, name)
  expect(skippedLines.split('\n')).toEqual([
    `${at}:42: skipped, broken`,
    `${at}:43: skipped, newer`,
    `${at}:44: skipped, torn`,
    `${join(directory, '2030-01-01.00000003.001.jsonl.gz')}:end: skipped, torn`,
    '',
  ])
  expect(health.skipped).toMatchObject({ broken: 1, newer: 1, torn: 2 })
  expect(health.windows[0]?.acquires).toBeGreaterThanOrEqual(80)
})

it('scoring names the first ten skipped lines of many', async () => {
  put(name, 'not JSON\n'.repeat(1000))
  const { health, skippedLines } = await scoreFiles({ directory }, NOON)
  expect(skippedLines.trim().split('\n')).toHaveLength(10)
  expect(health.skipped.broken).toBe(1000)
})
