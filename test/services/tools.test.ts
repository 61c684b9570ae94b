import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { executable, obtain, type Tool } from '../../scripts/services/tools.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-tools-'))
  vi.stubEnv('PATH', directory)
  vi.spyOn(console, 'log').mockReturnValue()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  await rm(directory, { recursive: true })
})

const tool = (name: string): Tool<string> => ({
  name,
  packages: [`${name}-package`],
  advice: `get ${name}.`,
  find: async () => executable(name),
})

async function program(name: string, script: string): Promise<void> {
  await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`)
  await chmod(join(directory, name), 0o755)
}

describe('obtaining tools', () => {
  it('obtaining tools uses what is on the PATH', async () => {
    await program('there', '')
    expect(await obtain([tool('there')])).toEqual([join(directory, 'there')])
  })

  it('obtaining tools installs Debian packages as root, and says so', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(0)
    // Stands in for a package manager that knows one of the two packages.
    await program(
      'apt-get',
      `echo "$@" >> ${directory}/calls
       case "$*" in *known-package) echo '#!/bin/sh' > ${directory}/known; /bin/chmod +x ${directory}/known;; *other-package) exit 100;; esac`,
    )
    await expect(obtain([tool('other'), tool('known')])).rejects.toThrow('other is missing: get other.')
    expect(await obtain([tool('known')])).toEqual([join(directory, 'known')])
    const calls = (await readFile(join(directory, 'calls'), 'utf8')).trim().split('\n')
    expect(calls.map((call) => call.replace(/^.*Timeout=\d+ /, ''))).toEqual([
      'update',
      'install --yes --no-install-recommends other-package',
      'install --yes --no-install-recommends known-package',
    ])
    expect(console.log).toHaveBeenCalledWith('installing Debian packages: other-package known-package')
  })

  it('obtaining tools waits while another process updates the lists of packages', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(0)
    await program(
      'apt-get',
      `echo "$@" >> ${directory}/calls
       case "$*" in
         *update) test -e ${directory}/updated || { echo > ${directory}/updated; echo 'E: Could not get lock' >&2; exit 100; };;
         *) echo '#!/bin/sh' > ${directory}/known; /bin/chmod +x ${directory}/known;;
       esac`,
    )
    expect(await obtain([tool('known')])).toEqual([join(directory, 'known')])
    const calls = (await readFile(join(directory, 'calls'), 'utf8')).trim().split('\n')
    expect(calls.map((call) => call.replace(/^.*Timeout=\d+ /, '').split(' ')[0])).toEqual([
      'update',
      'update',
      'install',
    ])
  })

  it('tells for each that is missing how to get it', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(1000)
    await expect(obtain([tool('one'), tool('two')])).rejects.toThrow(
      'one is missing: get one.\ntwo is missing: get two.',
    )
  })
})
