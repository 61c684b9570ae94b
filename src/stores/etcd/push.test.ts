import { expect, it, vi } from 'vitest'
import type { EtcdDatabase } from '../../clients/etcd.ts'
import { FakeClock } from '../../testing/index.ts'
import { Keys } from './names.ts'
import { Push } from './push.ts'

it('a watch that etcd does not confirm is ended when the store is closed', async () => {
  const close = vi.fn()
  const database: Pick<EtcdDatabase, 'watch'> = { watch: async () => ({ close, probe() {} }) }
  const clock = new FakeClock()
  const push = new Push(
    {
      database: database as EtcdDatabase,
      keys: new Keys('test/'),
      read: async () => [],
      changed() {},
      begun() {},
    },
    clock,
  )
  const refused = expect(push.open()).rejects.toMatchObject({ code: 'closed' })
  await clock.advance(0)
  await push.close()
  await refused
  expect(close).toHaveBeenCalledOnce()
  expect(clock.pending).toBe(0)
})
