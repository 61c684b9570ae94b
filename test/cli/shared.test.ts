import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { Holdfast, holdfast, temporaryDirectory } from './holdfast.ts'
import { PseudoTerminal } from './pseudo-terminal.ts'

const HOUR_MS = 3_600_000

let file: string
let at: readonly string[]
beforeEach(() => {
  file = join(temporaryDirectory(), 'holdfast.db')
  at = ['--store', `sqlite:${file}`]
})

/** Leases of three holders, for which two others wait. Resolves with their tokens. */
async function threeHolders(): Promise<number[]> {
  await using store = sqliteStore(file)
  const tokens: number[] = []
  for (const owner of ['mika', 'ken', 'zoe']) {
    const answer = await store.acquire({ resource: 'pool', id: owner, owner, ttl: HOUR_MS, share: 3 })
    if (answer.granted) tokens.push(answer.lease.token)
  }
  await store.acquire({ resource: 'pool', id: 'rin', owner: 'rin', ttl: HOUR_MS, wake() {} })
  await store.acquire({ resource: 'pool', id: 'ada', owner: 'ada', ttl: HOUR_MS, share: Infinity, wake() {} })
  return tokens
}

describe('several holders of one resource', () => {
  it('run together as far as --share allows', async () => {
    const run = (...args: string[]) =>
      new Holdfast([
        'run',
        ...at,
        '--ttl',
        '1h',
        'pool',
        ...args,
        '--',
        'sh',
        '-c',
        'echo here; exec sleep 600',
      ])
    const both = [run('--share', '2', '--owner', 'mika'), run('--share', '2', '--owner', 'ken')]
    for (const holder of both) await expect.poll(() => holder.stdout).toBe('here\n')
    const refused = await holdfast(['run', ...at, 'pool', '--share', '2', '--if-available', '--', 'true'])
    expect(refused).toMatchObject({ code: 75 })
    expect(refused.stderr).toMatch(/pool is held by (mika|ken) and 1 more/)
    const waiting = run('--share', '2', '--owner', 'zoe')
    await expect.poll(() => waiting.stderr).toMatch(/waiting for pool: held by (mika|ken) and 1 more/)
    both[0]?.signal('SIGTERM')
    await expect.poll(() => waiting.stdout).toBe('here\n')
  })

  it('several holders of one resource are listed with their share and the number of waiters', async () => {
    await threeHolders()
    const { stdout } = await holdfast(['ls', ...at])
    const rows = stdout.trimEnd().split('\n')
    expect(rows.map((row) => row.split('\t').filter((_, n) => [0, 1, 5, 6].includes(n)))).toEqual([
      ['pool', 'mika', '3', '2'],
      ['pool', 'ken', '3', '2'],
      ['pool', 'zoe', '3', '2'],
    ])
    const listed = new PseudoTerminal(`ls --limit 2 --store sqlite:${file}`, { NO_COLOR: '1' }, 60)
    await listed.ended
    expect(listed.output).toMatch(
      /^RESOURCE +HOLDER +SHARE +WAITING +HELD FOR +LEFT\r\npool +mika +3 of 3 +2 /,
    )
    for (const line of listed.output.split('\r\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('several holders of one resource are all inspected, with the waiting callers in their order and what each waits for', async () => {
    await threeHolders()
    const { stdout } = await holdfast(['inspect', ...at, 'pool'])
    expect(stdout).toMatch(
      /^resource +pool\nholders +3\nshare +3 of 3\nwaiting +2: rin \(exclusive\), ada \(reader\)\n/,
    )
    expect(stdout).toMatch(/\n\nholder +mika\n.*\n\nholder +ken\n.*\n\nholder +zoe\n/s)
    const json = JSON.parse((await holdfast(['inspect', ...at, 'pool', '--json'])).stdout)
    expect(json).toMatchObject({
      owner: 'mika',
      share: 3,
      holders: [{ owner: 'mika' }, { owner: 'ken' }, { owner: 'zoe' }],
      waiting: {
        count: 2,
        first: [
          { owner: 'rin', share: null },
          { owner: 'ada', share: 'unlimited' },
        ],
      },
    })
  })

  it('several holders of one resource are ended one by one by their token, or all together, and never by guessing', async () => {
    const [, ken] = await threeHolders()
    const force = (...args: string[]) => holdfast(['release', '--force', '--yes', ...at, 'pool', ...args])
    const unclear = await force()
    expect(unclear.code).toBe(64)
    expect(unclear.stderr).toContain(`ken (token ${ken})`)
    expect(await force('--token', String(ken))).toMatchObject({
      code: 0,
      stdout: 'Released pool, which ken held.\n',
    })
    expect(await force('--token', String(ken))).toMatchObject({ code: 1 })
    expect(await force('--token', String(ken), '--all')).toMatchObject({ code: 64 })
    const { code, stdout } = await force('--all', '--json')
    expect([code, JSON.parse(stdout).map(({ owner }: { owner: string }) => owner)]).toEqual([
      0,
      ['mika', 'zoe'],
    ])
  })

  it('several holders of one resource are offered to choose from on a terminal', async () => {
    await threeHolders()
    const terminal = new PseudoTerminal(`release --force --store sqlite:${file} pool`)
    await expect.poll(() => terminal.output).toContain('End which? [1-3, all, N]')
    expect(terminal.output).toMatch(/2 +\S*ken\S* +token \d+ .*left/)
    terminal.type('2\r')
    expect(await terminal.ended).toBe(0)
    expect(terminal.output).toContain('Released pool, which ken held.')
  })
})

describe('a resource that is kept after its last lease', () => {
  it('says for how long, and is freed by the token of that lease', async () => {
    const flags = ['--at-least', '1h', 'report', '--', 'sh', '-c', 'echo $HOLDFAST_TOKEN']
    const { stdout: token } = await holdfast(['run', ...at, ...flags])
    const again = ['run', ...at, 'report', '--if-available', '--', 'true']
    const refused = await holdfast(again)
    expect(refused.code).toBe(75)
    expect(refused.stderr).toMatch(
      /^holdfast: report is not available for another 59m \d+s, because its last lease keeps it \(--at-least or --lock-delay\); wait at least that long with --wait\n$/,
    )
    const waiting = new Holdfast(['run', ...at, 'report', '--json', '--', 'true'])
    await expect
      .poll(() => waiting.stderr)
      .toMatch(/"waiting for report: not available for another 59m .*"keptForMs":35\d{5}/)
    await holdfast(['release', '--force', '--yes', ...at, 'report', '--token', token.trim()])
    expect(await waiting.ended).toMatchObject({ code: 0 })
  })

  it('a resource that is kept after its last lease is listed and inspected with its last owner, its waiters and the time left', async () => {
    await holdfast(['run', ...at, '--owner', 'mika', '--at-least', '1h', 'report', '--', 'true'])
    const waiting = new Holdfast(['run', ...at, '--owner', 'ken', '--wait', '10m', 'report', '--', 'true'])
    await expect.poll(() => waiting.stderr).toContain('waiting for report')
    const listed = await holdfast(['ls', ...at])
    expect(listed.stdout).toMatch(/^report\tmika\t\d+\t\S+\t\S+\t\t1\tkept\n$/)
    const { stdout: json } = await holdfast(['ls', '--json', ...at])
    expect(JSON.parse(json)).toMatchObject([{ resource: 'report', owner: 'mika', state: 'kept', waiting: 1 }])
    const inspected = await holdfast(['inspect', ...at, 'report'])
    expect(inspected.code).toBe(0)
    expect(inspected.stdout).toMatch(/^state +kept after its last lease/m)
    expect(inspected.stdout).toMatch(/^last owner +mika$/m)
    expect(inspected.stdout).toMatch(/^left +59m \d+s, free at /m)
    expect(inspected.stdout).toMatch(/^waiting +1: ken$/m)
    const freed = await holdfast(['release', '--force', '--yes', ...at, 'report'])
    expect([freed.code, freed.stdout]).toEqual([0, 'Freed report, which the last lease of mika kept.\n'])
    expect(await waiting.ended).toMatchObject({ code: 0 })
  })

  it.each([
    ['--share', '0', 'a whole number from 1'],
    ['--at-least', '5', 'with a unit'],
    ['--lock-delay', 'soon', 'a duration'],
  ])('a resource that is kept after its last lease refuses %s %s', async (flag, value, expected) => {
    const { code, stderr } = await holdfast(['run', ...at, 'report', flag, value, '--', 'true'])
    expect([code, stderr]).toEqual([64, expect.stringContaining(expected)])
  })
})
