import { expect, it } from 'vitest'
import { nearest } from '../base/suggest.ts'
import { CATALOG } from './catalog.ts'

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
