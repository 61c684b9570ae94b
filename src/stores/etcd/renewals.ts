import type { EtcdDatabase, EtcdEntry } from '../../clients/etcd.ts'
import { together } from '../../clients/together.ts'
import { RENEWALS_TOGETHER } from './options.ts'

/** The steps of renewals. Renewals of the same moment share their requests. */
export class Renewals {
  /** The lease of this key, if it is live. */
  readonly find: (key: string) => Promise<EtcdEntry | undefined>
  /** Writes the key as it is, so that watchers hear of the renewal. Resolves with whether it still is that of the lease. */
  readonly touch: (entry: EtcdEntry) => Promise<boolean>

  constructor(database: EtcdDatabase) {
    this.find = together(
      RENEWALS_TOGETHER,
      (key) => key,
      async (keys) => {
        const { results } = await database.transact(
          [],
          keys.map((key) => ({ get: { key } })),
        )
        return results.map(({ entries }) => entries[0])
      },
    )
    this.touch = together(
      RENEWALS_TOGETHER,
      ({ key, created }) => `${created} ${key}`,
      async (entries) => {
        const touches = entries.map(({ key, created }) => ({ touch: key, created }))
        return (await database.transact([], touches)).results.map(({ count }) => count > 0)
      },
    )
  }
}
