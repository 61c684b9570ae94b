/** The words after `holdfast`, up to the command itself: nothing is opened. */

import { LeaseError } from '../../../src/base/errors.ts'
import { parseArguments } from '../../../src/cli/arguments.ts'
import { CATALOG, findCommand } from '../../../src/cli/catalog.ts'
import { Failure } from '../../../src/cli/failure.ts'
import { readRunOptions } from '../../../src/cli/run/options.ts'
import { CommandSettings } from '../../../src/cli/settings.ts'
import { checkAddress } from '../../../src/cli/stores/check-address.ts'
import { storeAddress } from '../../../src/cli/stores/index.ts'
import type { Input, Target, Verdict } from '../target.ts'

/** One word a line. */
const line = (...words: readonly string[]): Input => ({ words: words.join('\n') })

export const commandLine: Target = {
  corpus: [
    line('run', 'job', '--ttl', '30s', '--wait=5m', '--store', 'redis://localhost:6379', '--', 'echo', 'hi'),
    line('run', 'job', '--share', 'unlimited', '--at-least', '5s', '--lock-delay', '5s', '--', 'true'),
    line(
      'run',
      'job',
      '-m',
      'a=1',
      '--metadata',
      '{"b":[2]}',
      '--owner',
      'Ann',
      '--once',
      '--keep',
      '7d',
      '--',
      'x',
    ),
    line('run', 'job', '--if-available', '-q', '--grace', '2s', '--store=sqlite:./a.db', '--', '--json'),
    line(
      'ls',
      '--json',
      '--store',
      'postgres://app:secret@localhost/app?sslmode=require',
      '--listen',
      'postgres://x',
    ),
    line('inspect', 'job', '--store', 'mysql://root@localhost:3306/app'),
    line('watch', '--store', 'nats://localhost:4222'),
    line('release', 'job', '--token', '5', '--store', 'etcd://a:2379,b:2379'),
    line('doctor', '--store', 'redis+cluster://a:7000,b:7001'),
    line('serve', '--port', '8080', '--ttl', '1m', '--origins', 'https://a.example'),
    line('monitor', 'score', 'a.jsonl', '--json'),
    line('completion', 'bash'),
    line('migrate', '--store', 'http://token@localhost:4321', '--help'),
  ],
  open: () => ({
    async feed({ words = '' }) {
      try {
        return await parse(words.split('\n'))
      } catch (error) {
        if (error instanceof Failure || error instanceof LeaseError) return 'refused'
        throw error
      }
    },
  }),
}

async function parse([name = '', ...words]: readonly string[]): Promise<Verdict> {
  const command = await findCommand(name)?.load()
  if (!command) return Object.hasOwn(CATALOG, name) ? Promise.reject(new Error(`${name} is lost`)) : 'refused'
  const { flags, positionals, childCommand } = parseArguments(name, command, words)
  // The files that it names do not exist.
  const settings = await CommandSettings.load(flags, command.options, {})
  for (const word of [...positionals, ...childCommand])
    if (typeof word !== 'string') throw new TypeError('not a word')
  if ('store' in command.options) checkAddress(storeAddress(settings))
  if (name !== 'run') return 'accepted'
  const { ttl, wait, owner, share, metadata = {} } = readRunOptions(settings)
  if (!Number.isInteger(ttl) || Number.isNaN(wait) || typeof owner !== 'string')
    throw new TypeError('no options')
  if (share !== undefined && share !== Infinity && !Number.isSafeInteger(share))
    throw new TypeError('no share')
  JSON.stringify(metadata)
  return 'accepted'
}
