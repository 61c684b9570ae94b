import { expect, it } from 'vitest'
import { momentText } from './moment-text.ts'

it.each(['en', 'en-US', 'de', 'ja', 'ar-EG-u-nu-latn'])(
  'five minutes after midnight is 00:05 in %s',
  (lang) => {
    const today = new Date().setHours(0, 5, 7, 0)
    expect(momentText(today, lang)).toContain('00:05')
    expect(momentText(today, lang, 'seconds')).toContain('00:05:07')
  },
)

it.each([
  ['today', new Date().setHours(12, 0), /^12:00$/],
  ['in another month of an earlier year', new Date(2001, 1, 3, 12, 0).getTime(), /^Feb 3, 2001, 12:00$/],
])('a time %s has the date that is needed', (_, at, text) => {
  expect(momentText(at, 'en')).toMatch(text)
})
