import { beforeEach, expect, it } from 'vitest'
import type { EtcdEntry } from '../../clients/etcd.ts'
import type { KeyKind } from './names.ts'
import { FIRST_WAITERS } from './options.ts'
import type { ParsedEvent } from './push.ts'
import { Replicas } from './replicas.ts'

let replicas: Replicas
beforeEach(() => {
  replicas = new Replicas()
})

function entry(key: string, revision: number): EtcdEntry {
  return { key, value: '', created: revision, modified: revision, lease: '1' }
}

function event(type: 'put' | 'delete', kind: KeyKind, id: string, revision: number): ParsedEvent {
  return { type, kind, resource: 'r', id, entry: entry(`${kind} ${id}`, revision), previous: null }
}

function read(revision: number, queue: readonly string[], queueLength = queue.length): void {
  const q = queue.map((id, n) => entry(`q ${id}`, n + 1))
  replicas.read({
    resource: 'r',
    revision,
    entries: { l: [entry('l a', 1)], e: [entry('e a', 1)], k: [], q },
    queueLength,
    own: undefined,
  })
}

function queue(): string[] | undefined {
  return replicas.find('r', '')?.entries.q.map(({ key }) => key)
}

it('a resource is copied from a read that is not older than the last change', () => {
  read(5, ['b'])
  expect(replicas.find('r', '')).toBeUndefined()
  replicas.changed('r', [event('put', 'q', 'b', 7)])
  read(6, [])
  expect(replicas.find('r', '')).toBeUndefined()
  read(7, ['b'])
  expect(replicas.find('r', 'q b')).toMatchObject({ revision: 7, queueLength: 1, own: { key: 'q b' } })
  read(6, [])
  expect(queue()).toEqual(['q b'])
  replicas.forget('r')
  expect(replicas.find('r', '')).toBeUndefined()
})

it('a copy follows the changes after it, in their order', () => {
  replicas.changed('r', [event('put', 'q', 'b', 2)])
  read(4, ['b', 'c'])
  // The read has seen these two already.
  replicas.changed('r', [event('put', 'q', 'x', 3)])
  replicas.changed('r', [event('put', 'q', 'c', 4)])
  replicas.changed('r', [event('put', 'q', 'd', 5)])
  replicas.changed('r', [event('delete', 'l', 'a', 6), event('delete', 'e', 'a', 6)])
  replicas.changed('r', [event('put', 'l', 'b', 7), event('delete', 'q', 'b', 7)])
  expect(queue()).toEqual(['q c', 'q d'])
  expect(replicas.find('r', '')).toMatchObject({
    revision: 7,
    queueLength: 2,
    entries: { l: [{ key: 'l b' }], e: [] },
  })
})

it('of a long queue the first waiters are copied, and the next ones are read when these are gone', () => {
  replicas.changed('r', [event('put', 'q', '0', 1)])
  const ids = Array.from({ length: FIRST_WAITERS }, (_, n) => String(n))
  read(100, ids, FIRST_WAITERS + 1)
  replicas.changed('r', [event('put', 'q', 'late', 101)])
  expect(replicas.find('r', '')).toMatchObject({ queueLength: FIRST_WAITERS + 2, own: undefined })
  for (const [n, id] of ids.slice(0, -1).entries()) replicas.changed('r', [event('delete', 'q', id, 102 + n)])
  expect(queue()).toEqual([`q ${FIRST_WAITERS - 1}`])
  replicas.changed('r', [event('delete', 'q', `${FIRST_WAITERS - 1}`, 200)])
  expect(replicas.find('r', '')).toBeUndefined()
})
