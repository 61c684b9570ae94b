import { expect, it } from 'vitest'
import { nearest } from '../base/suggest.ts'
import { CATALOG } from './catalog.ts'
import { RUN_OPTIONS } from './run/options.ts'

const commands = Object.keys(CATALOG)

it.each([
  ['rnu', 'run'],
  ['lst', 'ls'],
  ['list', 'ls'],
  ['inspct', 'inspect'],
  ['insp', 'inspect'],
  ['relaese', 'release'],
  ['docter', 'doctor'],
  ['monitr', 'monitor'],
  ['migrte', 'migrate'],
  ['completions', 'completion'],
  ['sreve', 'serve'],
])('the word nearest to %s is %s', (word, expected) => {
  expect(nearest(word, commands)).toBe(expected)
})

it.each(['frobnicate', 'xyz', 'status', 'x', '', 'lock', 'help-me', 'redis://host'])(
  'no word is near to %s',
  (word) => {
    expect(nearest(word, commands)).toBeUndefined()
  },
)

it.each([
  ['non-blocking', 'if-available'],
  ['skip-if-locked', 'if-available'],
  ['no-wait', 'if-available'],
  ['timeout', 'wait'],
  ['max-wait', 'wait'],
  ['lease-time', 'ttl'],
  ['min-time', 'at-least'],
  ['concurrency', 'share'],
  ['redis', 'store'],
])('the option of run nearest to --%s is --%s', (word, expected) => {
  expect(nearest(word, ['store', ...Object.keys(RUN_OPTIONS)])).toBe(expected)
})
