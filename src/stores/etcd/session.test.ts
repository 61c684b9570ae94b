import { expect, it } from 'vitest'
import type { EtcdDatabase } from '../../clients/etcd.ts'
import { Session } from './session.ts'

it('a session of etcd closes although its lease could not be granted', async () => {
  const { promise: grantLease, reject } = Promise.withResolvers<never>()
  const database: Pick<EtcdDatabase, 'grantLease'> = { grantLease: () => grantLease }
  const session = new Session(database as EtcdDatabase, () => false)
  const refused = expect(session.lease()).rejects.toThrow('no connection')
  const closing = session.close()
  reject(new Error('no connection'))
  await refused
  await expect(closing).resolves.toBeUndefined()
})
