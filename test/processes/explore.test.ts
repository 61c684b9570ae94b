import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { root, toolEnvironment } from '../../scripts/run-tool.ts'

const PLANTED = join(import.meta.dirname, 'planted/vitest.config.ts')
const NAME = 'test/processes/planted/planted.ts > a planted mistake is found'
/** The fixed seed finds nothing in its ten values, this one does. */
const SEED = 12

describe('npm run test:explore', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-explore-'))
    writeFileSync(join(directory, 'regressions.json'), '[]')
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  async function run(program: string, args: readonly string[], hasMistake = true) {
    const log = join(directory, 'values')
    writeFileSync(log, '')
    const env = {
      ...toolEnvironment(),
      HOLDFAST_REGRESSIONS: join(directory, 'regressions.json'),
      PLANTED_LOG: log,
      PLANTED_MISTAKE: hasMistake ? 'yes' : '',
    }
    const child = spawn(program, args, { cwd: root, env })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        output += data
      })
    const [code] = await once(child, 'close')
    const values: number[][] = readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
    return { code, output, values }
  }
  const explore = (...args: string[]) =>
    run('node', ['scripts/explore.ts', '--config', PLANTED, '--minutes', '1', ...args])
  const runOrdinarily = (hasMistake = true) => run('vitest', ['run', '--config', PLANTED], hasMistake)
  const regressions = () => JSON.parse(readFileSync(join(directory, 'regressions.json'), 'utf8'))

  it('npm run test:explore finds a planted mistake and notes it, and every later run replays it', async () => {
    const before = [await runOrdinarily(), await runOrdinarily()] as const
    expect(before[0].code, before[0].output).toBe(0)
    expect(before[1].values).toEqual(before[0].values)

    const explored = await explore('--seed', String(SEED))
    expect(explored.code, explored.output).toBe(1)
    expect(explored.output).toContain(`seed ${SEED}`)
    expect(explored.output).toContain(`found: ${NAME}`)
    expect(regressions()).toEqual([{ property: NAME, seed: SEED, path: expect.any(String) }])

    const replayed = await runOrdinarily()
    expect(replayed.code, replayed.output).toBe(1)
    const counterexample = replayed.values[0]?.[0] ?? 0
    expect(counterexample % 50).toBe(7)
    const repaired = await runOrdinarily(false)
    expect(repaired.code, repaired.output).toBe(0)
    expect(repaired.values[0]?.[0]).toBe(counterexample)
  })

  it('npm run test:explore refuses a wrong time', async () => {
    const { code, output } = await explore('--minutes', 'ten')
    expect(code).toBe(1)
    expect(output).toContain('--minutes: expected a number above 0, got ten')
  })
})
