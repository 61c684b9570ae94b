import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { readFileLines, readLines } from './monitor-node.ts'

const directory = mkdtempSync(join(tmpdir(), 'holdfast-lines-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe('lines', () => {
  it('lines are the same for every size of chunks', async () => {
    const text = 'one\n\nzwei ü 名前\nthree\n{"torn'
    await checkProperty(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), async (size) => {
        const bytes = Buffer.from(text)
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size),
        )
        expect(await collectedFrom((listener) => readLines(asyncOf(chunks), listener))).toEqual({
          lines: ['one', 'zwei ü 名前', 'three'],
          torn: ['{"torn'],
          huge: 0,
        })
      }),
    )
  })

  it('lines that are too long are counted and skipped', async () => {
    const huge = 'x'.repeat(70_000)
    const chunks = ['a\n', huge, huge, `${huge}\nb\n${huge}\nc\n`, huge]
    expect(await collectedFrom((listener) => readLines(asyncOf(chunks), listener))).toEqual({
      lines: ['a', 'b', 'c'],
      torn: [],
      huge: 3,
    })
  })

  it.each(['plain.jsonl', 'packed.jsonl.gz'])('lines are read from %s', async (name) => {
    const path = join(directory, name)
    writeFileSync(path, name.endsWith('.gz') ? gzipSync('a\nb\n') : 'a\nb\n')
    expect((await collectedFrom((listener) => readFileLines(path, listener))).lines).toEqual(['a', 'b'])
  })

  it('lines of an incomplete compressed file are read up to its end', async () => {
    const path = join(directory, 'cut.jsonl.gz')
    const packed = gzipSync(Array.from({ length: 5000 }, () => crypto.randomUUID()).join('\n'))
    writeFileSync(path, packed.subarray(0, packed.length / 2))
    const { lines, torn } = await collectedFrom((listener) => readFileLines(path, listener))
    expect(torn).toHaveLength(1)
    expect(lines.length).toBeLessThan(5000)
  })
})

async function* asyncOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

async function collectedFrom(read: (listener: Parameters<typeof readLines>[1]) => Promise<void>) {
  const found = { lines: [] as string[], torn: [] as string[], huge: 0 }
  await read({
    onLine: (line) => found.lines.push(line),
    onLastLine: (line) => found.torn.push(line),
    onHuge: () => found.huge++,
  })
  return found
}
