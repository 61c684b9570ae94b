import { describe, expect, it } from 'vitest'
import { LeaseError } from '../../core/index.ts'
import { explain, isConflict } from './errors.ts'

const failure = (code: number) => Object.assign(new Error(`code ${code}`), { code })

describe('an error of Firestore', () => {
  it.each([
    ['unavailable', failure(14), 'store-unavailable'],
    ['a deadline', failure(4), 'store-unavailable'],
    ['a quota', failure(8), 'store-unavailable'],
    ['contention', failure(10), 'store-unavailable'],
    ['no permission', failure(7), 'store-failed'],
    ['no credentials', failure(16), 'store-failed'],
    ['a bad request', failure(3), 'store-failed'],
    ['one without a code', new Error('Could not load the default credentials'), 'store-failed'],
    ['what is no error', 'oops', 'store-failed'],
  ])('%s', (_, error, code) => {
    expect(explain(error)).toMatchObject({ code, cause: error })
  })

  it('is left alone when it is explained already', () => {
    const error = new LeaseError('closed', 'this store was closed')
    expect(explain(error)).toBe(error)
  })

  it.each([5, 6, 9, 10])('of a write, with code %i, says that another was first', (code) => {
    expect(isConflict(failure(code))).toBe(true)
    expect(isConflict(failure(14))).toBe(false)
  })
})
