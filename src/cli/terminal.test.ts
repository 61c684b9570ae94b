import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { alignColumns, openTerminal, printable } from './terminal.ts'

describe('a remark', () => {
  const remark = (isJson: boolean) => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => written.mockRestore())
    openTerminal({}, isJson).remark('there are more', { limit: 7 })
    return String(written.mock.lastCall?.[0])
  }

  it('is a line for people, or one of JSON with its details', () => {
    expect(remark(false)).toBe('holdfast: there are more\n')
    const fact = { at: expect.stringMatching(/Z$/), type: 'remark', text: 'there are more', limit: 7 }
    expect(JSON.parse(remark(true))).toEqual(fact)
  })
})

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
