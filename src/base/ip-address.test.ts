import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { isInNetwork, limitKeyOf, parseIp, parseNetwork } from './ip-address.ts'

describe('parseIp', () => {
  it('parseIp accepts the same texts as Node', () => {
    const pieces = ['1', '255', '256', 'f', 'ffff', '12345', '::', ':', '.', '1.2.3.4', '']
    checkProperty(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        expect(parseIp(text) !== undefined, text).toBe(isIP(text) !== 0)
      }),
      { numRuns: 2000 },
    )
    for (const address of [fc.ipV4(), fc.ipV6()])
      checkProperty(fc.property(address, (text) => parseIp(text) !== undefined))
  })

  it('parseIp reads every form of an address as the same', () => {
    const same = [
      '2001:db8::1',
      '2001:DB8:0:0::1',
      '2001:0db8:0000:0000:0000:0000:0000:0001',
      '2001:db8::0.0.0.1',
    ]
    expect(new Set(same.map(parseIp)).size).toBe(1)
    expect(parseIp('::ffff:10.0.0.1')).toBe(parseIp('10.0.0.1'))
  })
})

describe('a network', () => {
  it.each([
    ['10.0.0.0/8', '10.200.3.4', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.0.0.0/8', '::ffff:10.1.1.1', true],
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '10.0.0.2', false],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['::/0', '1.2.3.4', true],
  ])('%s contains %s: %s', (network, address, contains) => {
    const parsed = parseNetwork(network)
    expect(parsed && isInNetwork(parseIp(address) ?? 0n, parsed)).toBe(contains)
  })

  it.each(['', 'ten', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/', '10.0.0.0/8/8', '::/129', '10.0.0.0/-1'])(
    '%j is none',
    (text) => expect(parseNetwork(text)).toBeUndefined(),
  )
})

it('a limit counts an IPv6 address by its first 64 bits, because a caller has all that follow', () => {
  expect(limitKeyOf('2001:db8:1:2:3:4:5:6')).toBe(limitKeyOf('2001:db8:1:2::9'))
  expect(limitKeyOf('2001:db8:1:2::9')).not.toBe(limitKeyOf('2001:db8:1:3::9'))
  expect(limitKeyOf('::ffff:10.0.0.1')).toBe('10.0.0.1')
  expect(limitKeyOf('10.0.0.1')).toBe('10.0.0.1')
  expect(limitKeyOf('user:7')).toBe('user:7')
})
