import { expect, it } from 'vitest'
import { readRecords } from './lock-file.ts'
import { TTL_MS } from './options.ts'
import { SCOPES, UNREADABLE } from './project-lease.ts'

const NOW = 1_900_000_000_000
const record = { id: 'a tab', ttlExpiresAt: NOW + 1000, mtime: NOW }

it('the lock file may have a scope with a name of JavaScript itself, which is kept and lends nothing to others', () => {
  const text = `{"__proto__":${JSON.stringify({ ...record, history: record })}}`
  const records = readRecords({ SCOPES, TTL_MS, UNREADABLE }, { text, lastModified: NOW }, NOW)
  expect(records['history']).toBeUndefined()
  expect(Object.keys(records)).toEqual(['__proto__'])
})
