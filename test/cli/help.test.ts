import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { CATALOG } from '../../src/cli/catalog.ts'
import { HOLDFAST, Holdfast, holdfast, temporaryDirectory } from './holdfast.ts'

describe('help', () => {
  it('help lists every command', async () => {
    const { code, stdout } = await holdfast([])
    expect(code).toBe(0)
    for (const name of Object.keys(CATALOG)) expect(stdout).toMatch(new RegExp(`^  ${name} +\\w`, 'm'))
  })

  it.each(Object.keys(CATALOG))('help of %s has its usage, options and examples', async (name) => {
    const { code, stdout } = await holdfast([name, '--help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      new RegExp(`^Usage  holdfast ${name}.*\n\n.+^Options\n.+^Examples\n  # .+\n  `, 'ms'),
    )
  })

  it('help is in the documentation, and so is every option', async () => {
    const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')
    for (const [name, { load }] of Object.entries(CATALOG)) {
      expect(page).toContain(`## ${name}`)
      // The options of `serve` are documented on the page of the server.
      const { options } = name === 'serve' ? { options: {} } : await load()
      for (const option of Object.keys(options)) expect(page).toContain(`--${option}`)
    }
  })
})

it('holdfast --version prints the version', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(await holdfast(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

describe('completion', () => {
  it.each([
    ['holdfast r', 'run release'],
    ['holdfast ls --', '--limit --store --listen --config --json --debug --help'],
    ['holdfast run job -- l', ''],
  ])('completion in bash completes "%s"', (line, expected) => {
    const script = `
      eval "$(${HOLDFAST} completion bash)"
      COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=()
      _holdfast 2> /dev/null; echo "\${COMPREPLY[@]}"`
    const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
    expect(stdout.trim()).toBe(expected)
  })

  it.each([
    ['inspect back', 'backup:db'],
    ['inspect backup:', 'db'],
    ['release --force backup:d', 'db'],
    ['inspect rep', 'report\\ of\\ May'],
    ['inspect report\\ o', 'report\\ of\\ May'],
    ['inspect "report o', 'report of May'],
    [`inspect 'backup:d`, 'backup:db'],
    ['inspect -s "STORE" rep', 'report\\ of\\ May'],
    [`inspect --store 'STORE' rep`, 'report\\ of\\ May'],
    ['inspect --store="STORE" backup:', 'db'],
    ['inspect -s ESCAPED rep', 'report\\ of\\ May'],
    ['inspect --', '--store --listen --config --json --debug --help'],
  ])('completion in bash completes resources: "holdfast %s"', async (args, expected) => {
    const directory = join(temporaryDirectory(), 'a b%20c')
    mkdirSync(directory)
    const store = `sqlite:${join(directory, 'holdfast.db')}`
    for (const resource of ['backup:db', 'report of May']) {
      const holder = new Holdfast([
        'run',
        '--store',
        store,
        resource,
        '--',
        'sh',
        '-c',
        'echo here; exec sleep 600',
      ])
      await expect.poll(() => holder.stdout).toBe('here\n')
    }
    const line = `holdfast ${args.replace('STORE', store).replace('ESCAPED', store.replaceAll(' ', '\\ '))}`
    const script = `
      holdfast() { ${HOLDFAST} "$@"; }
      eval "$(holdfast completion bash)"
      COMP_LINE=$LINE; COMP_POINT=\${#COMP_LINE}
      COMP_WORDS=(\${COMP_LINE//:/ : }); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=()
      _holdfast 2> /dev/null; echo "\${COMPREPLY[@]}"`
    // A line that names the store finds it without the setting.
    const env = { ...process.env, LINE: line, ...(!/STORE|ESCAPED/.test(args) && { HOLDFAST_STORE: store }) }
    const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8', env })
    expect(stdout.trim()).toBe(expected)
  })

  describe.each(['zsh', 'fish'])('in %s', (shell) => {
    const isMissing = spawnSync(shell, ['--version']).error !== undefined
    it.skipIf(isMissing)(`is a valid script (skipped where ${shell} is not installed)`, async () => {
      const path = join(temporaryDirectory(), 'script')
      writeFileSync(path, (await holdfast(['completion', shell])).stdout)
      expect(spawnSync(shell, ['-n', path], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
    })
  })
})
