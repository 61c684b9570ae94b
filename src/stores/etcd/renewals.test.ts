import { expect, it } from 'vitest'
import type { EtcdDatabase, EtcdOperation } from '../../clients/etcd.ts'
import { Renewals } from './renewals.ts'

it('the steps of a hundred renewals of one moment are few transactions', async () => {
  const sizes: number[] = []
  const transact = async (_: unknown, operations: readonly EtcdOperation[]) => {
    sizes.push(operations.length)
    const results = operations.map((operation) => {
      const key = 'get' in operation ? operation.get.key : 'none'
      return { entries: [{ key, value: '', created: 1, modified: 1, lease: '1' }], count: 1 }
    })
    return { succeeded: true, revision: 1, results }
  }
  const renewals = new Renewals({ transact } as unknown as EtcdDatabase)
  const names = Array.from({ length: 100 }, (_, n) => `key ${n}`)
  const found = await Promise.all(names.map((name) => renewals.find(name)))
  expect(found.map((entry) => entry?.key)).toEqual(names)
  const touched = await Promise.all(found.map((entry) => entry && renewals.touch(entry)))
  expect(new Set(touched)).toEqual(new Set([true]))
  expect(sizes).toEqual([32, 32, 32, 4, 32, 32, 32, 4])
})
