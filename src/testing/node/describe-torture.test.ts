import { expect, it } from 'vitest'
import { describeTorture } from './describe-torture.ts'

it('the TTL of a torture may be text, and a wrong one is refused by name', () => {
  const limits = (ttl: 5000 | '5s' | '5 seconds') => {
    const found: unknown[] = []
    const run = (_name: string, _body: () => Promise<void>, timeout?: number) => found.push(timeout)
    const runner = {
      describe: (_name: string, body: () => void) => body(),
      it: Object.assign(run, { skip: run }),
    }
    describeTorture('mine', { module: 'file:///open-store.ts', address: () => '', ttl: ttl as '5s', runner })
    return found
  }
  expect(limits('5s')).toEqual(limits(5000))
  expect(() => limits('5 seconds')).toThrow('ttl: expected whole milliseconds')
})
