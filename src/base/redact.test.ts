import { describe, expect, it } from 'vitest'
import { redactAddress, redactText } from './redact.ts'

/** Each part of a secret has the letters `S3`, so none may be left. */
const CASES = [
  ['redis://host:6379/0', 'redis://host:6379/0'],
  ['redis://:S3@host', 'redis://:…@host'],
  ['redis://S3@host', 'redis://…@host'],
  ['redis://default:S3', 'redis://default…'],
  ['redis://app:S3#S3@host:6379', 'redis://app:…'],
  ['redis://app:12#S3@host', 'redis://app:…'],
  ['redis://host:6379/0?password=S3@S3', 'redis://host:…'],
  ['redis://host/0?password=S3', 'redis://host/0?…'],
  ['rediss://app:S3@[::1]:6379/1?prefix=a&password=S3', 'rediss://app:…@[::1]:6379/1?prefix=a&…'],
  ['redis+cluster://app:S3@a,b:7000?prefix=x', 'redis+cluster://app:…@a,b:7000?prefix=x'],
  [
    'redis+sentinel://:S3@a:1,b:2/mymaster?db=1&sentinelPassword=S3',
    'redis+sentinel://:…@a:1,b:2/mymaster?db=1&…',
  ],
  ['postgres://app@db/app?schema=s&table=t', 'postgres://app@db/app?schema=s&table=t'],
  ['postgres://app:S3/S3@db/app', 'postgres://app:…'],
  ['postgres://app:S3?S3@db/app', 'postgres://app:…'],
  ['postgres://app:S3@S3@db/app', 'postgres://app:…@db/app'],
  ['postgres://app:S3 S3@db/app', 'postgres://app:…'],
  ['postgres://db/app?user=u&password=S3&b=S3', 'postgres://db/app?…'],
  ['postgres://db/app?user=me@S3&password=S3', 'postgres://…'],
  ['postgresql://db/app#S3', 'postgresql://db/app…'],
  ['postgres:app:S3@db', 'postgres:…'],
  ['postgres://db/app?listen=postgres%3A%2F%2Fapp%3AS3%40db', 'postgres://db/app?…'],
  ['mysql://app:S3%23@db:3306/app', 'mysql://app:…@db:3306/app'],
  ['nats://S3@a:4222', 'nats://…@a:4222'],
  ['nats://app:S3@a:4222,b:4222', 'nats://app:…@a:4222,b:4222'],
  ['etcd://root:S3@a:2379,b:2379?prefix=x/', 'etcd://root:…@a:2379,b:2379?…'],
  ['https://S3@locks.example.com/base?key=S3', 'https://…@locks.example.com/base?…'],
  ['sqlite:./a@b#c.db?table=t', 'sqlite:./a@b#c.db?table=t'],
  ['sqlite:./a.db?key=S3', 'sqlite:./a.db?…'],
  ['file://me:S3@host/locks', 'file://me:…@host/locks'],
  ['mongodb://me:S3@db/x', 'mongodb://me:…@db/x'],
  ['me:S3@db/x', 'me:…'],
  ['S3@db', '…'],
  ['locks', 'locks'],
  ['./holdfast.db', './holdfast.db'],
  ['', ''],
] as const

describe('an address in a message', () => {
  it.each(CASES)('%s is shown as %s', (address, shown) => {
    expect(redactAddress(address)).toBe(shown)
    expect(shown).not.toContain('S3')
  })

  it('an address in a message that was redacted before is not changed again', () => {
    for (const [, shown] of CASES) expect(redactText(`${shown}: no answer`)).toBe(`${shown}: no answer`)
  })
})

describe('a sentence of others', () => {
  it.each([
    ['no answer from redis://:S3@host today', 'no answer from redis://:…@host today'],
    ['URL includes credentials: http://me:S3@h/', 'URL includes credentials: http://me:…@h/'],
    ['"postgres://db/x?user=u&password=S3", retrying', '"postgres://db/x?… retrying'],
    ['create it here: https://console.example.com/r?create=abc', undefined],
    ['at run (file:///srv/node_modules/@scope/x.js:1:2)', undefined],
    ['backup is held by root@web-1:4711', undefined],
  ])('%s', (text, expected = text) => {
    expect(redactText(text)).toBe(expected)
  })
})
