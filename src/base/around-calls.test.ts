import { expect, it } from 'vitest'
import { aroundCalls } from './around-calls.ts'

// `await using` of a test is compiled into other code. The stack asks V8 itself.
it('an object whose calls go through a function can be disposed of by V8', async () => {
  let ended = 0
  const target = {
    work: () => 1,
    async [Symbol.asyncDispose]() {
      ended++
    },
  }
  const stack = new AsyncDisposableStack()
  const wrapped = stack.use(aroundCalls(target, ['work'], (_, run) => run()))
  expect(wrapped.work()).toBe(1)
  await stack.disposeAsync()
  expect(ended).toBe(1)
})
