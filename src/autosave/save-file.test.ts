import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { decodeSave, encodeSave, fileNameOf, idOfFileName, measure, piecesOf } from './save-file.ts'

const ID = '2030-01-01T00:00:00.000Z'
const save = (value: unknown) => {
  const text = JSON.stringify(value)
  return { id: ID, text, ...measure(text) }
}

describe('the file of a save', () => {
  it('the file of a save is JSON that others can read', () => {
    expect(JSON.parse(encodeSave(save({ title: 'a "b" \u2028 {}' })))).toEqual({
      ...{ holdfast: 1, savedAt: ID, bytes: 26, checksum: expect.any(String) },
      data: { title: 'a "b" \u2028 {}' },
    })
  })

  it('the file of a save returns every value that JSON can represent', () => {
    checkProperty(
      fc.property(fc.jsonValue(), (value) => {
        expect(decodeSave(encodeSave(save(value)))).toEqual(save(value))
      }),
    )
  })

  it('the file of a save is rejected if it ends early, at every length', () => {
    const file = encodeSave(save({ title: 'torn', more: { braces: '}}' } }))
    for (let end = 0; end < file.length; end++) expect(decodeSave(file.slice(0, end))).toBeNull()
  })

  it('the file of a save is rejected if any single character of the state has changed', () => {
    const file = encodeSave(save({ title: 'damaged' }))
    const start = file.indexOf('"data":') + '"data":'.length
    for (let at = start; at < file.length; at++)
      expect(decodeSave(`${file.slice(0, at)}\u0001${file.slice(at + 1)}`)).toBeNull()
  })

  it('the file of a save says how long the state is, and a damaged length is corrected', () => {
    const file = encodeSave(save({ title: 'a' }))
    expect(decodeSave(file.replace('"bytes":13', '"bytes":99'))).toEqual(save({ title: 'a' }))
    expect(decodeSave(file.replace('"bytes":13', `"bytes":${'9'.repeat(20)}`))).toBeNull()
  })

  it('the file of a save is written in pieces that Chromium accepts, none of which ends inside a character', () => {
    const long = 'a😀'.repeat(700_000)
    const pieces = [...piecesOf(long, 3_500_000)]
    expect(pieces.join('')).toBe(long)
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true)
    expect(Math.max(...pieces.map((piece) => new TextEncoder().encode(piece).length))).toBeLessThan(2 ** 21)
    expect([...piecesOf('a'.repeat(1_000_000), 1_000_000)]).toHaveLength(1)
  })

  it('the file of a save is measured in bytes of UTF-8', () => {
    checkProperty(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const whole = text.toWellFormed()
        expect(measure(whole).bytes).toBe(new TextEncoder().encode(whole).length)
      }),
    )
  })

  it('the file of a save has a name that every file system accepts, and that contains the id', () => {
    expect(fileNameOf(ID)).toBe('2030-01-01T00-00-00.000Z.json')
    expect(idOfFileName(fileNameOf(ID))).toBe(ID)
    for (const other of ['', 'x.json', `${fileNameOf(ID)}.crswap`, '2030-01-01T99-00-00.000Z.json'])
      expect(idOfFileName(other)).toBeNull()
  })
})
