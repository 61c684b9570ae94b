import { describe, expect, it } from 'vitest'
import { alignColumns, printable } from './terminal.ts'

describe('columns', () => {
  it('are as wide as their widest cell, however wide its characters and whatever their colour', () => {
    expect(
      alignColumns([
        ['RESOURCE', 'HOLDER', ''],
        ['請求書', '\x1b[1mmika\x1b[22m', 'x'],
        ['a', 'b', ''],
      ]),
    ).toEqual(['RESOURCE  HOLDER', '請求書    \x1b[1mmika\x1b[22m    x', 'a         b'])
  })
})

describe('what others wrote', () => {
  it('cannot act on the terminal', () => {
    expect(printable('a\x1b[2Jb\rc\u0007')).toBe('ab�c�')
  })
})
