import {
  appendFileSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { linesOf, record } from '../../test/telemetry/records.ts'
import { FakeClock } from '../testing/index.ts'
import { type FileSink, fileSink } from './file-sink-node.ts'
import type { FileSinkOptions } from './options.ts'

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  return { ...fs, writeSync: vi.fn(fs.writeSync), ftruncateSync: vi.fn(fs.ftruncateSync) }
})

const DAY = 24 * 3_600_000

describe('the sink for files', () => {
  let directory: string
  let clock: FakeClock
  let sinks: FileSink[]
  beforeEach(() => {
    directory = join(mkdtempSync(join(tmpdir(), 'holdfast-telemetry-')), 'lines')
    clock = new FakeClock()
    sinks = []
  })
  afterEach(async () => {
    await Promise.all(sinks.map((sink) => sink.close()))
    rmSync(join(directory, '..'), { recursive: true })
  })

  const open = (options: FileSinkOptions = {}) => {
    const sink = fileSink(directory, { clock, ...options })
    sinks.push(sink)
    return sink
  }
  const names = () => readdirSync(directory).toSorted()
  const first = record('lock:acquired', 0)
  const second = record('lock:released', 1)

  it('the sink for files has written a line for each record when write returns', () => {
    const sink = open()
    sink.write([first])
    sink.write([second])
    expect(names()).toEqual([expect.stringMatching(/^2030-01-01\.[\da-f]{8}\.001\.jsonl$/)])
    expect(contentOf(0)).toBe(linesOf([first, second]))
  })

  it('the sink for files begins a file each day and compresses the files of past days', async () => {
    const sink = open()
    sink.write([first])
    utimesSync(join(directory, names()[0] ?? ''), new Date(clock.now()), new Date(clock.now()))
    clock.jump(DAY)
    sink.write([second])
    await sink.close()
    expect(names()).toEqual([
      expect.stringMatching(/^2030-01-01.*\.jsonl\.gz$/),
      expect.stringMatching(/^2030-01-02/),
    ])
    expect(gunzipSync(readFileSync(join(directory, names()[0] ?? ''))).toString()).toBe(linesOf([first]))
  })

  it('the sink for files does not compress a file of yesterday while another process may write to it', async () => {
    const sink = open()
    sink.write([first])
    clock.jump(DAY)
    utimesSync(join(directory, names()[0] ?? ''), new Date(clock.now()), new Date(clock.now() - 1000))
    sink.write([second])
    await sink.close()
    expect(names()).toEqual([
      expect.stringMatching(/^2030-01-01.*\.jsonl$/),
      expect.stringMatching(/^2030-01-02/),
    ])
  })

  it('the sink for files begins another part when a file is full', () => {
    const sink = open({ maxFileBytes: 10 })
    sink.write([first])
    sink.write([second])
    expect(names().map((name) => name.slice(20))).toEqual(['001.jsonl', '002.jsonl'])
  })

  it('the sink for files deletes the oldest files when all together are too large, and no other files', async () => {
    const sink = open({ maxFileBytes: 1, maxTotalBytes: 250 })
    sink.write([first])
    const foreign = ['.lock', 'notes.jsonl', '2030-01-01.txt']
    for (const name of foreign) writeFileSync(join(directory, name), 'x'.repeat(1000))
    for (let n = 0; n < 5; n++) sink.write([second])
    await sink.close()
    const parts = names().filter((name) => /\.\d{3}\.jsonl$/.test(name))
    expect(parts.at(-1)).toContain('.006.')
    expect(parts.length).toBeLessThan(4)
    for (const name of foreign) expect(existsSync(join(directory, name))).toBe(true)
  })

  it('the sink for files deletes the files of one day in the order of their last write, not of their names', async () => {
    const sink = open({ maxTotalBytes: linesOf([first, second]).length })
    mkdirSync(directory)
    const others = ['2030-01-01.ffffffff.001.jsonl', '2030-01-01.00000000.001.jsonl']
    for (const [index, name] of others.entries()) {
      writeFileSync(join(directory, name), linesOf([first]))
      utimesSync(join(directory, name), index + 1, index + 1)
    }
    sink.write([second])
    await sink.close()
    expect(names()).toEqual([others[1], expect.not.stringContaining('ffffffff')])
  })

  it('continues in a new file when its own was deleted', () => {
    const sink = open()
    sink.write([first])
    rmSync(join(directory, names()[0] ?? ''))
    sink.write([second])
    expect(contentOf(0)).toBe(linesOf([second]))
  })

  it('the sink for files never appends to the file of another writer, so that a torn line stays the last one', () => {
    open().write([first])
    writeFileSync(join(directory, names()[0] ?? ''), linesOf([first]).slice(0, 30))
    open().write([second])
    expect(names()).toHaveLength(2)
    const whole = names().findIndex((_, index) => contentOf(index) === linesOf([second]))
    expect(contentOf(1 - whole)).toBe(linesOf([first]).slice(0, 30))
  })

  it('the sink for files begins another file after a part of a line that it could not remove', () => {
    const sink = open()
    sink.write([first])
    const torn = '{"v":1,"at":'
    vi.mocked(writeSync)
      .mockImplementationOnce(() => {
        appendFileSync(join(directory, names()[0] ?? ''), torn)
        return torn.length
      })
      .mockImplementationOnce(() => {
        throw new Error('no space left')
      })
    vi.mocked(ftruncateSync).mockImplementationOnce(() => {
      throw new Error('broken disk')
    })
    expect(() => sink.write([second])).toThrow('no space left')
    sink.write([second])
    expect(contentOf(0)).toBe(linesOf([first]) + torn)
    expect(contentOf(1)).toBe(linesOf([second]))
  })

  it('reports that old files cannot be compressed, and continues when onError throws', async () => {
    mkdirSync(directory)
    const old = '2029-12-31.00000000.001.jsonl'
    writeFileSync(join(directory, old), linesOf([first]))
    utimesSync(join(directory, old), 1, 1)
    mkdirSync(join(directory, `${old}.gz`))
    const onError = vi.fn(() => {
      throw new Error('from onError')
    })
    {
      await using sink = open({ onError, maxFileBytes: 1 })
      sink.write([first])
      sink.write([second])
    }
    expect(onError).toHaveBeenCalledTimes(2)
    expect(names()).toHaveLength(4)
  })

  function contentOf(index: number): string {
    return readFileSync(join(directory, names()[index] ?? ''), 'utf8')
  }
})
