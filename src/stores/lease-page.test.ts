import { expect, it } from 'vitest'
import type { LeaseRecord } from '../core/index.ts'
import { cursorOf, cutPage, mayBeListed, nextAfter, pageOf } from './lease-page.ts'

const lease = (resource: string, token: number, share: number | null = null): LeaseRecord => ({
  ...{ resource, token, share, id: `${token}`, owner: 'Mika', metadata: null },
  ...{ acquiredAt: 0, expiresAt: 1, remaining: 1, state: 'held' },
})

const names = ({ leases }: { readonly leases: readonly LeaseRecord[] }) =>
  leases.map(({ resource, token }) => `${resource} ${token}`)

it('a page is in the order of names and of tokens, and the next one goes on after it', () => {
  const found = [lease('b', 9, 5), lease('b', 10, 5), lease('a', 3), lease('b', 2, 5), lease('c', 1)]
  const first = pageOf(found, { limit: 3 })
  expect(names(first)).toEqual(['a 3', 'b 2', 'b 9'])
  const second = pageOf(found, { limit: 3, ...(first.next && { after: first.next }) })
  expect(names(second)).toEqual(['a 3', 'b 10', 'c 1'])
  expect(second.next).toBeUndefined()
})

it('a page that has all leases has no next one', () => {
  const leases = [lease('a', 1), lease('b', 2)]
  expect(cutPage(leases, 2)).toEqual({ leases })
  expect(cutPage(leases, 1)).toEqual({ leases: [leases[0]], next: 'a' })
  expect(cutPage([], 1)).toEqual({ leases: [] })
})

it('a shared lease has others beside it, so the next page begins after its token', () => {
  expect(cursorOf(nextAfter(lease('a', 5, 2)))).toEqual({ resource: 'a', token: 5 })
  expect(cursorOf(nextAfter(lease('a', 5)))).toEqual({ resource: 'a', token: Infinity })
  expect(cursorOf()).toEqual({ resource: '', token: Infinity })
})

it.each([
  ['a', {}, true],
  ['a', { prefix: 'b' }, false],
  ['ab', { prefix: 'a' }, true],
  ['b', { after: 'a' }, true],
  ['a', { after: 'a' }, false],
  ['a', { after: nextAfter(lease('a', 5, 2)) }, true],
  ['a', { after: 'b' }, false],
  ['\u{1f600}', { after: '\uffff' }, true],
] as const)('whether leases of %s may be in a page of %j: %s', (resource, query, isListed) => {
  expect(mayBeListed(resource, { limit: 10, ...query })).toBe(isListed)
})
