import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory.ts'
import { listLeases } from './list-leases.ts'

it('listLeases returns the leases of all pages that have the prefix, ordered by resource', async () => {
  const store = memoryStore()
  for (const resource of ['b', 'a:3', 'a:1', 'a:5', 'a:2', 'a:4'])
    await store.acquire({ resource, id: resource, owner: 'mika', ttl: 1000 })
  const names: string[] = []
  for await (const { resource } of listLeases(store, 'a:', 2)) names.push(resource)
  expect(names).toEqual(['a:1', 'a:2', 'a:3', 'a:4', 'a:5'])
})
