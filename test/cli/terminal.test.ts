import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Holdfast, holdfast, temporaryDirectory } from './holdfast.ts'
import { PseudoTerminal } from './pseudo-terminal.ts'
import { screenOf } from './screen.ts'

const ESCAPE = '\x1b['

let store: string
let holder: Holdfast
beforeEach(async () => {
  store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
  const command = ['sh', '-c', 'echo here; exec sleep 600']
  // With this TTL, no renewal comes during the test.
  const flags = ['--store', store, '--owner', 'mika', '--ttl', '1h']
  holder = new Holdfast(['run', ...flags, 'backup', '--', ...command])
  await expect.poll(() => holder.stdout).toBe('here\n')
})

describe('on a terminal', () => {
  it('watch shows a table, reports a release, and restores the screen', async () => {
    const terminal = new PseudoTerminal(`watch --store ${store}`)
    await expect.poll(() => terminal.output).toMatch(/RESOURCE +HOLDER .*\r\n.*backup +mika/s)
    await expect.poll(() => terminal.output).toContain('1 lease ')
    await expect.poll(() => terminal.output).toContain('q quit')
    holder.signal('SIGTERM')
    await expect.poll(() => terminal.output).toMatch(/released\S* +backup +mika/)
    await expect.poll(() => terminal.output).toContain('Nothing is held.')
    terminal.type('q')
    expect(await terminal.ended).toBe(0)
    expect(terminal.output).toMatch(/\?25h.*\?1049l$/)
  })

  it.each([
    [60, 'RESOURCE HOLDER WAITING LEFT'],
    [80, 'RESOURCE HOLDER WAITING LEFT HELD FOR'],
    [120, 'RESOURCE HOLDER WAITING LEFT HELD FOR NOTE'],
    [180, 'RESOURCE HOLDER WAITING LEFT HELD FOR TOKEN NOTE'],
  ])('watch with long names cuts no heading at %d columns', async (columns, headings) => {
    const name = 'reports/2026/monthly/sales-by-region-and-product'
    const owner = 'deploy@web-12.eu-central.example.com:4711'
    const flags = ['--owner', owner, '--ttl', '1h', '-m', 'ticket=OPS-7']
    const other = new Holdfast([
      'run',
      '--store',
      store,
      ...flags,
      name,
      '--',
      'sh',
      '-c',
      'echo here; exec sleep 600',
    ])
    await expect.poll(() => other.stdout).toBe('here\n')
    const terminal = new PseudoTerminal(`watch --store ${store}`, {}, columns)
    const lines = () => screenOf(terminal.output, columns, 30)
    const shown = (line = '') => line.trim().replace(/ {2,}/g, ' ')
    await expect.poll(() => shown(lines().find((line) => line.includes('RESOURCE')))).toBe(headings)
    expect(lines().find((line) => line.startsWith('> backup'))).toMatch(/^> backup +mika +(59m \d+s|1h)( |$)/)
    expect(lines().find((line) => line.includes('reports/'))).toMatch(
      /^ {2}reports\/2026.* deploy@web.* +(59m \d+s|1h)( |$)/,
    )
    terminal.type('q')
    await terminal.ended
  })

  it('watch inspects and releases the selected lease, and asks before', async () => {
    const terminal = new PseudoTerminal(`watch --store ${store}`)
    await expect.poll(() => terminal.output).toMatch(/> backup +mika/)
    terminal.type('\r')
    await expect.poll(() => terminal.output).toMatch(/unless it is renewed/)
    terminal.type(' r')
    await expect.poll(() => terminal.output).toContain('End the lease of backup, held by mika? y/N')
    terminal.type('n')
    await expect.poll(() => terminal.output.slice(-2000)).toMatch(/> backup +mika.*q quit/s)
    terminal.type('ry')
    await expect.poll(() => terminal.output).toContain('backup was released.')
    expect((await holder.ended).code).toBe(76)
    terminal.type('q')
    expect(await terminal.ended).toBe(0)
  })

  it('watch that Ctrl-C ends exits with 130, as in a pipe', async () => {
    const terminal = new PseudoTerminal(`watch --store ${store}`)
    await expect.poll(() => terminal.output).toMatch(/> backup +mika/)
    terminal.type('\x03')
    expect(await terminal.ended).toBe(130)
    expect(terminal.output).toMatch(/\?25h.*\?1049l$/)
  })

  it('watch restores the screen also if a signal comes before its store has answered', async () => {
    holder.signal('SIGTERM')
    await holder.ended
    const locker = new DatabaseSync(store.replace('sqlite:', ''))
    onTestFinished(() => locker.close())
    locker.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE')
    const terminal = new PseudoTerminal(`watch --store ${store}`)
    await expect.poll(() => terminal.output).toContain('?1049h')
    terminal.type('\x03')
    expect(await terminal.ended).toBe(130)
    expect(terminal.output).toMatch(/\?25h.*\?1049l$/)
  })

  it('a command says what it waits for when that takes longer than a second', async () => {
    await using silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const terminal = new PseudoTerminal(`ls --store redis://127.0.0.1:${port}`)
    await expect.poll(() => terminal.output).toContain(`redis://127.0.0.1:${port} (1 s)`)
    terminal.type('\x03')
    await terminal.ended
  })

  it('ls and watch keep every line within the terminal, whatever the names', async () => {
    const long = 'x'.repeat(194)
    const flags = ['--store', store, '--owner', `owner ${long}`, '--metadata', `note=${long}`]
    const other = new Holdfast([
      'run',
      ...flags,
      `name:${long}`,
      '--',
      'sh',
      '-c',
      'echo here; exec sleep 600',
    ])
    await expect.poll(() => other.stdout).toBe('here\n')
    const listed = new PseudoTerminal(`ls --store ${store}`, { NO_COLOR: '1' }, 60)
    await listed.ended
    const lines = listed.output.trim().split('\r\n')
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60)
    expect(lines[0]).toMatch(/^RESOURCE +HOLDER +LEFT$/)
    expect(lines[2]).toMatch(/^name:x+… +owner x+… +\S/)
    const watching = new PseudoTerminal(`watch --store ${store}`, { NO_COLOR: '1' }, 60)
    await expect.poll(() => watching.output).toContain('q quit')
    expect(watching.output).toMatch(/ {2}name:x+… +owner x+… /)
    watching.type('q')
    await watching.ended
  })

  it.each([
    ['y\r', 0, 'Released backup, which mika held.', 'Nobody holds backup.'],
    ['\r', 1, 'Nothing was released.', 'mika'],
    ['\x03', 1, 'Nothing was released.', 'mika'],
    ['\x04', 1, 'Nothing was released.', 'mika'],
  ])('release asks for confirmation: %j', async (answer, code, printed, after) => {
    const terminal = new PseudoTerminal(`release --force --store ${store} backup`)
    await expect.poll(() => terminal.output).toContain('End it? [y/N]')
    terminal.type(answer)
    expect(await terminal.ended).toBe(code)
    expect(terminal.output).toContain(printed)
    expect((await holdfast(['inspect', '--store', store, 'backup'])).stdout).toContain(after)
  })

  it('ls prints a heading, and colours unless NO_COLOR is set', async () => {
    const coloured = new PseudoTerminal(`ls --store ${store}`)
    const plain = new PseudoTerminal(`ls --store ${store}`, { NO_COLOR: '1' })
    await Promise.all([coloured.ended, plain.ended])
    expect(coloured.output).toContain(`${ESCAPE}2mRESOURCE`)
    expect(plain.output).toMatch(/^RESOURCE +HOLDER +TOKEN +HELD FOR +LEFT/)
    expect(plain.output).not.toContain(ESCAPE)
  })

  it('run says who holds the lease while it waits, on a line that it clears', async () => {
    const terminal = new PseudoTerminal(`run --store ${store} backup -- echo started`)
    await expect.poll(() => terminal.output).toMatch(/waiting for backup: held by mika for .* left \(\d+ s\)/)
    holder.signal('SIGTERM')
    expect(await terminal.ended).toBe(0)
    expect(screenOf(terminal.output, 120, 30).slice(1, 3)).toEqual([
      expect.stringMatching(/^holdfast: acquired backup after/),
      'started',
    ])
  })

  it('run passes the terminal and Ctrl-C to its command', async () => {
    const terminal = new PseudoTerminal(
      `run --store ${store} other -- sh -c 'read line; echo got $line; exec sleep 600'`,
    )
    terminal.type('hello\r')
    await expect.poll(() => terminal.output).toContain('got hello')
    terminal.type('\x03')
    expect(await terminal.ended).toBe(130)
  })
})

describe('in a pipe', () => {
  it('watch prints a line of JSON for each change', async () => {
    const watching = new Holdfast(['watch', '--store', store])
    await expect.poll(() => changesIn(watching)).toEqual(['held backup'])
    holder.signal('SIGTERM')
    await expect.poll(() => changesIn(watching)).toEqual(['held backup', 'released backup'])
    watching.signal('SIGINT')
    expect((await watching.ended).code).toBe(130)
  })

  it('ls and a refused run print no control characters of an owner', async () => {
    const owner = 'a\x1b[31mb\tc\u0007'
    const other = new Holdfast([
      'run',
      '--store',
      store,
      '--owner',
      owner,
      'other',
      '--',
      'sh',
      '-c',
      'echo here; exec sleep 600',
    ])
    await expect.poll(() => other.stdout).toBe('here\n')
    const { stdout } = await holdfast(['ls', '--store', store, 'other'])
    expect(stdout).toMatch(/^other\tab c\ufffd\t/)
    const { stderr } = await holdfast(['run', '--store', store, '--if-available', 'other', '--', 'true'])
    expect(stderr).toMatch(/^holdfast: other is held by ab\ufffdc\ufffd; /)
  })

  it('ls prints tabs between fields', async () => {
    const { stdout } = await holdfast(['ls', '--store', store])
    expect(stdout).toMatch(/^backup\tmika\t\d{16}\t\S+Z\t\S+Z\t\t0\theld\n$/)
  })
})

function changesIn({ stdout }: Holdfast): string[] {
  const lines = stdout.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line)).map(({ type, resource }) => `${type} ${resource}`)
}
