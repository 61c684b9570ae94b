/** Tests of Web Locks that a lock manager of ours fails, by script and title, and why. docs/locks.md lists them. */
export type KnownDifferences = Readonly<Record<string, string>>

const ORDER = 'callbacks of different names are called in the order of the grants, and the store has no queue'
const PENDING = 'a store without a queue does not know the requests of other clients that wait'

const WITHOUT_QUEUE: KnownDifferences = {
  'mode-mixed: Lock requests are granted in order': ORDER,
  'mode-shared: Lock requests are granted in order': ORDER,
  'query: query() can observe a deadlock': PENDING,
  'query-ordering: Requests appear in state in order made.': PENDING,
}

/** By the names of stores. */
export const KNOWN_DIFFERENCES: Readonly<Record<string, KnownDifferences>> = {
  memory: {},
  sqlite: {},
  file: WITHOUT_QUEUE,
  redis: {},
  postgres: {},
  mysql: {},
  etcd: {},
  nats: WITHOUT_QUEUE,
  firestore: WITHOUT_QUEUE,
}
