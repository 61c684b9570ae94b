import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Analysis } from '../../src/telemetry/index.ts'
import { eventually } from '../eventually.ts'

const run = promisify(execFile)
const worker = (name: string) => join(import.meta.dirname, 'workers', `${name}.ts`)

let home: string
let directory: string
let child: ChildProcess | undefined
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-telemetry-'))
  directory = join(home, 'telemetry')
})
afterEach(() => {
  child?.kill('SIGKILL')
  child = undefined
  rmSync(home, { recursive: true })
})

describe('a process that collects', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'a process that collects loses no event when it ends by %s',
    async (signal) => {
      const { collected, ended } = await collecting('3600000')
      child?.kill(signal)
      expect(await ended).toEqual([null, signal])
      const { records, skipped } = await readBack()
      expect(records).toBeGreaterThanOrEqual(collected())
      expect(skipped).toMatchObject({ broken: 0, torn: 0 })
    },
  )

  it('a process that collects ends as its own signal handler decides', async () => {
    const { collected, ended } = await collecting('3600000', '7')
    child?.kill('SIGTERM')
    expect(await ended).toEqual([7, null])
    expect((await readBack()).records).toBeGreaterThanOrEqual(collected())
  })

  it('a process that collects leaves complete lines except for the last when it is killed', async () => {
    const { ended } = await collecting('1')
    await eventually(async () => expect((await readBack()).records).toBeGreaterThan(100))
    child?.kill('SIGKILL')
    await ended
    const { skipped } = await readBack()
    expect(skipped.broken).toBe(0)
    expect(skipped.torn).toBeLessThanOrEqual(1)
  })

  it('a process that collects leaves no part of a batch that the disk did not take', async () => {
    const { stdout } = await run('sh', ['-c', `ulimit -f 4; exec "$0" "$1" "$2"`, ...fillingArguments()])
    const { records, skipped } = await readBack()
    expect(records).toBe(Number(stdout))
    expect(records).toBeGreaterThan(0)
    expect(skipped).toMatchObject({ broken: 0, torn: 0 })
  })
})

describe('the whole pipeline', () => {
  it('the whole pipeline never opens, lists or writes a `.lock` file or anything outside its own folders', async () => {
    const reports = join(home, 'reports')
    for (const folder of [directory, reports, join(home, 'project')]) {
      mkdirSync(folder)
      writeFileSync(join(folder, '.lock'), 'not for telemetry')
    }
    const { stdout } = await run(
      process.execPath,
      [
        ...[
          '--permission',
          '--allow-fs-read=*',
          `--allow-fs-write=${directory}`,
          `--allow-fs-write=${reports}`,
        ],
        ...[worker('tracing'), directory, reports],
      ],
      { cwd: home },
    )
    const { exitCodes, paths } = JSON.parse(stdout) as { exitCodes: number[]; paths: string[] }
    expect(exitCodes).toEqual([0, 1, 0])
    expect(paths.length).toBeGreaterThan(5)
    expect(paths.filter((path) => path.includes('.lock'))).toEqual([])
    // The lease of the alerts names its process, as Linux tells it in /proc.
    const own = [directory, reports, '/proc/']
    expect(paths.filter((path) => !own.some((folder) => path.startsWith(folder)))).toEqual([])
    expect(readFileSync(join(directory, '.lock'), 'utf8')).toBe('not for telemetry')
    expect(readdirSync(home).toSorted()).toEqual(['project', 'reports', 'telemetry'])
  })
})

/** Starts a process that collects, and waits until it has collected events. */
async function collecting(interval: string, ...more: string[]) {
  const started = spawn(process.execPath, [worker('collecting'), directory, interval, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child = started
  let output = ''
  started.stdout.on('data', (chunk) => {
    output += chunk
  })
  const collected = () => Number(output.split('\n').at(-2) ?? 0)
  const ended = once(started, 'close')
  await eventually(() => expect(collected()).toBeGreaterThan(300))
  return { collected, ended }
}

function fillingArguments(): string[] {
  return [process.execPath, worker('filling'), directory]
}

async function readBack() {
  const analysis = new Analysis()
  for (const name of readdirSync(directory)) {
    const lines = readFileSync(join(directory, name), 'utf8').split('\n')
    const last = lines.pop() ?? ''
    for (const line of lines) analysis.addLine(line)
    if (last) analysis.addLastLine(last)
  }
  const records = analysis.metrics().reduce((sum, window) => sum + window.records, 0)
  return { records, skipped: analysis.skipped }
}
