import { expect, it } from 'vitest'
import { together } from './together.ts'

function setUp(most: number) {
  const sent: (readonly string[])[] = []
  const call = together(
    most,
    (item: string) => item,
    async (items) => {
      sent.push(items)
      if (items.includes('bad')) throw new Error('refused')
      return items.map((item) => `${item}!`)
    },
  )
  return { sent, call }
}

it('calls of one moment share requests of limited size, and each gets its own answer', async () => {
  const { sent, call } = setUp(2)
  expect(await Promise.all(['a', 'b', 'c'].map(call))).toEqual(['a!', 'b!', 'c!'])
  expect(await call('d')).toBe('d!')
  expect(sent).toEqual([['a', 'b'], ['c'], ['d']])
})

it('calls of one moment with the same key are one item', async () => {
  const { sent, call } = setUp(2)
  expect(await Promise.all(['a', 'a', 'b'].map(call))).toEqual(['a!', 'a!', 'b!'])
  expect(sent).toEqual([['a', 'b']])
})

it('a request that fails fails for all its callers, and for no others', async () => {
  const { call } = setUp(2)
  const outcomes = await Promise.allSettled(['a', 'bad', 'c'].map(call))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
})
