import { expect, it } from 'vitest'
import { errorFields } from './log.ts'

it('the log shows errors, their stacks and their causes without the passwords of addresses', () => {
  const cause = Object.assign(new Error('no answer from postgres://app:secret@db/app'), { input: 'secret' })
  const fields = errorFields(new Error('redis://:secret@cache cannot be reached', { cause }), true)
  expect(fields.error).toBe('Error: redis://:…@cache cannot be reached')
  expect(fields.stack).toMatch(
    /^Error: redis:.*\n +at .*\ncaused by: Error: no answer from postgres:\/\/app:…@db\/app\n/s,
  )
  expect(JSON.stringify(fields)).not.toContain('secret')
  expect(errorFields('redis://:secret@cache is gone')).toEqual({ error: 'redis://:…@cache is gone' })
})
