/** Blocks that a reader could not use. They must be noticed, or the tests of the pages prove nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Block, blocksOf, titleOf } from './blocks.ts'
import { compile } from './compile.ts'
import { runInNode } from './run-node.ts'
import { Sandbox } from './sandbox.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await Sandbox.create()
})
afterAll(async () => sandbox?.[Symbol.asyncDispose]())

function blockOf(info: string, ...code: string[]): Block {
  const text = ['# Title', '', `\`\`\`${info}`, ...code, '```'].join('\n')
  const [block] = blocksOf(`docs/${info.replaceAll(/\W/g, '-')}.md`, text)
  if (!block) throw new Error(`${info} is not run`)
  return block
}

const run = async (info: string, ...code: string[]) =>
  runInNode(await sandbox.place(blockOf(info, ...code)), sandbox)

describe('a block is noticed if', () => {
  it('it does not compile, by page and line', async () => {
    const wrong = ["import { createLeases } from 'holdfast'", 'createLeases(1)']
    const infos = ['ts', 'ts page', 'js', 'ts no-run: needs root']
    const placed = await Promise.all(infos.map((info) => sandbox.place(blockOf(info, ...wrong))))
    const errors = await compile(placed, sandbox)
    for (const { block } of placed)
      expect(errors.get(titleOf(block))).toContain(`${block.page}:5: error TS2345`)
  })

  it('it uses a name that it does not import', async () => {
    const block = await sandbox.place(blockOf('ts', "await leases.acquire('a')"))
    expect((await compile([block], sandbox)).get('docs/ts.md:3')).toContain('docs/ts.md:4: error TS2304')
    await expect(runInNode(block, sandbox)).rejects.toThrow('leases is not defined')
  })

  it('its program fails', async () => {
    await expect(run('js', 'process.exitCode = 3')).rejects.toThrow('it ended with 3')
  })

  it('its program prints on stderr', async () => {
    await expect(run('js', "console.error('a warning')")).rejects.toThrow('nothing may be printed on stderr')
  })

  it('its server ends before it is up', async () => {
    await expect(run('js serve', '0')).rejects.toThrow('it ended with 0')
  })

  it('its server fails when it is stopped', async () => {
    const stop = "process.once('SIGTERM', () => process.exit(1))"
    await expect(run('js serve', 'setInterval(() => {}, 1000)', stop, "console.log('up')")).rejects.toThrow(
      'it ended with 1',
    )
  })

  it.each(['vitest', 'node:test'])('its test fails in %s', async (runner) => {
    const failing = "it('fails', () => { throw new Error('wrong') })"
    await expect(run('ts test', `import { it } from '${runner}'`, failing)).rejects.toThrow('it ended with 1')
  })

  it('one of its commands fails', async () => {
    await expect(run('sh', 'false', 'true')).rejects.toThrow('it ended with 1')
  })

  it('curl gets another status than the page says', async () => {
    const lock = 'http://127.0.0.1:4321/api/documents/42/lock'
    await run('sh', `curl ${lock} # 200`)
    await expect(run('sh', `curl ${lock} # 409 already_locked`)).rejects.toThrow('409')
  })

  it('it connects to a usual port without a server of the test', async () => {
    const connecting = run('js', "import { connect } from 'node:net'", "connect(6379, 'localhost')")
    await expect(connecting).rejects.toThrow('no test server for port 6379')
  })
})

describe('a block finds', () => {
  it('its own server on the port that it prints', async () => {
    await run(
      'js',
      "import { createServer } from 'node:http'",
      "const server = createServer((_, response) => response.end('hello')).listen(4321, async () => {",
      "  if ((await (await fetch('http://localhost:4321')).text()) !== 'hello') throw new Error('another server')",
      '  server.close()',
      '})',
    )
  })
})
