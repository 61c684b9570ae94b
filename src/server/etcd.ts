import { expectOptions, expectText } from '../base/arguments.ts'
import { type EtcdClient, type EtcdCondition, endOfPrefix, etcdDatabase } from '../clients/etcd.ts'
import { etcdError } from '../clients/etcd-errors.ts'
import type { AuditLog } from './audit.ts'
import type { DocumentStore } from './documents.ts'
import { keyValueAudit } from './key-value-audit.ts'
import { keyValueDocuments } from './key-value-documents.ts'
import { type KeyValues, keyValueSecrets } from './key-values.ts'
import { ETCD_KEYS_AT_ONCE, type EtcdAuditOptions, type EtcdPartsOptions } from './options.ts'
import type { SecretStore } from './secrets.ts'

/**
 * Contents in etcd, in parts that its requests can carry. It uses your client and leaves it open.
 *
 * @example
 * const server = await createLockServer({ store: etcdStore(client), documents: etcdDocuments(client) })
 */
export function etcdDocuments(client: EtcdClient, options: EtcdPartsOptions = {}): DocumentStore {
  return keyValueDocuments(etcdKeyValues(client, options))
}

/**
 * The audit trail in etcd, one for all nodes. It uses your client and leaves it open.
 *
 * @example
 * const service = await createLockServer({ store, documents: etcdDocuments(client), audit: etcdAudit(client) })
 */
export function etcdAudit(client: EtcdClient, options: EtcdAuditOptions = {}): AuditLog {
  const { maxEntries, ...parts } = options
  return keyValueAudit(etcdKeyValues(client, parts), maxEntries)
}

/**
 * Secrets that all nodes share. Everybody who may read the keys can read them.
 *
 * @example
 * const service = await createLockServer({ store, documents: etcdDocuments(client), secrets: etcdSecrets(client) })
 */
export function etcdSecrets(client: EtcdClient, options: EtcdPartsOptions = {}): SecretStore {
  return keyValueSecrets(etcdKeyValues(client, options))
}

export function etcdKeyValues(client: EtcdClient, options: EtcdPartsOptions): KeyValues {
  const database = etcdDatabase(client)
  expectOptions(options, { prefix: 1 })
  const { prefix: given = 'holdfast-documents/' } = options
  expectText('prefix', given)
  const prefix = database.prefix + given
  const isAt = (key: string, revision: number): EtcdCondition => ({
    key: prefix + key,
    compare: 'modified',
    is: 'equal',
    than: revision,
  })
  return {
    backend: 'etcd',
    explain: etcdError,
    async get(key) {
      const { results } = await database.transact([], [{ get: { key: prefix + key } }])
      const [entry] = results[0]?.entries ?? []
      return entry ? { text: entry.value, revision: entry.modified } : null
    },
    async put(key, text) {
      return (await database.transact([], [{ put: prefix + key, value: text }])).revision
    },
    async compareAndPut(key, text, expected) {
      const put = { put: prefix + key, value: text }
      return (await database.transact([isAt(key, expected ?? 0)], [put])).succeeded
    },
    async remove(key, revision) {
      const condition: EtcdCondition = { ...isAt(key, revision + 1), is: 'less' }
      await database.transact([condition], [{ remove: prefix + key }])
    },
    async *list(kind, what, stop) {
      const first = `${prefix}${kind}.`
      for (let key = first; ; ) {
        stop.throwIfAborted()
        const range = { key, end: endOfPrefix(first), limit: ETCD_KEYS_AT_ONCE, keysOnly: what === 'keys' }
        const entries = (await database.transact([], [{ get: range }])).results[0]?.entries ?? []
        for (const entry of entries)
          yield { key: entry.key.slice(prefix.length), text: entry.value, revision: entry.modified }
        const last = entries.at(-1)
        if (!last || entries.length < ETCD_KEYS_AT_ONCE) return
        key = `${last.key}\0`
      }
    },
  }
}
