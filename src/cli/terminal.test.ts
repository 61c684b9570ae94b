import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { jsonText } from './json-text.ts'
import { alignColumns, openTerminal, printable } from './terminal.ts'

describe('a remark', () => {
  const remark = (isJson: boolean, text = 'there are more') => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => written.mockRestore())
    openTerminal({}, isJson).remark(text, { limit: 7 })
    return String(written.mock.lastCall?.[0])
  }

  it('a remark is a line of text, or with --json a line of JSON with its details', () => {
    expect(remark(false)).toBe('holdfast: there are more\n')
    expect(JSON.parse(remark(true))).toEqual({
      at: expect.stringMatching(/Z$/),
      type: 'remark',
      text: 'there are more',
      limit: 7,
    })
  })

  it('a remark cannot control the terminal, and may have several lines', () => {
    expect(remark(false, 'held by \x1b[2Ja\u0007\nport: wrong')).toBe('holdfast: held by a�\nport: wrong\n')
  })
})

describe('columns', () => {
  it('columns are as wide as their widest cell, also with wide characters and colours', () => {
    expect(
      alignColumns([
        ['RESOURCE', 'HOLDER', ''],
        ['請求書', '\x1b[1mmika\x1b[22m', 'x'],
        ['a', 'b', ''],
      ]),
    ).toEqual(['RESOURCE  HOLDER', '請求書    \x1b[1mmika\x1b[22m    x', 'a         b'])
  })
})

describe('a text from elsewhere', () => {
  it('a text from elsewhere cannot control the terminal', () => {
    expect(printable('a\x1b[2Jb\rc\u0007')).toBe('ab�c�')
  })

  it('a text from elsewhere cannot show its letters in another order, or hide some', () => {
    expect(printable('a\u202eb\u2066c\u200bd\u2028e\ufefff')).toBe('a�b�c�d�e�f')
    // Joiners are parts of emoji and of Persian words.
    expect(printable('👩\u200d💻 می\u200cخواهم')).toBe('👩\u200d💻 می\u200cخواهم')
  })

  it('a text from elsewhere has the same value in JSON, where such letters are escapes', () => {
    const value = { owner: 'a\u202eb\u200d👩' }
    expect(jsonText(value, 0)).toBe('{"owner":"a\\u202eb\\u200d👩"}')
    expect(JSON.parse(jsonText(value))).toEqual(value)
  })
})
