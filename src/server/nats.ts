import { expectOptions, expectWhole, refuse } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { expectNatsConnection, type NatsConnection } from '../clients/nats.ts'
import { natsError } from '../clients/nats-errors.ts'
import { Bucket } from '../stores/nats/bucket.ts'
import type { AuditLog } from './audit.ts'
import type { DocumentStore } from './documents.ts'
import { keyValueAudit } from './key-value-audit.ts'
import { keyValueDocuments } from './key-value-documents.ts'
import { type KeyValues, keyValueSecrets } from './key-values.ts'
import type { NatsAuditOptions, NatsPartsOptions } from './options.ts'
import type { SecretStore } from './secrets.ts'

/**
 * Contents in a bucket of NATS JetStream. It uses your connection and leaves it open. Needs `@nats-io/kv`.
 *
 * @example
 * const server = await createLockServer({ store: natsStore(connection), documents: natsDocuments(connection) })
 */
export function natsDocuments(connection: NatsConnection, options: NatsPartsOptions = {}): DocumentStore {
  return keyValueDocuments(natsKeyValues(connection, options))
}

/**
 * The audit trail in a bucket of NATS, one for all nodes. It uses your connection and leaves it open.
 *
 * @example
 * const service = await createLockServer({ store, documents: natsDocuments(connection), audit: natsAudit(connection) })
 */
export function natsAudit(connection: NatsConnection, options: NatsAuditOptions = {}): AuditLog {
  const { maxEntries, ...parts } = options
  return keyValueAudit(natsKeyValues(connection, parts), maxEntries)
}

/**
 * Secrets that all nodes share. Everybody who may read the bucket can read them.
 *
 * @example
 * const service = await createLockServer({ store, documents: natsDocuments(connection), secrets: natsSecrets(connection) })
 */
export function natsSecrets(connection: NatsConnection, options: NatsPartsOptions = {}): SecretStore {
  return keyValueSecrets(natsKeyValues(connection, options))
}

/** Opens the bucket with the first request. */
export function natsKeyValues(connection: NatsConnection, options: NatsPartsOptions): KeyValues {
  expectNatsConnection('connection', connection)
  expectOptions(options, { bucket: 1, replicas: 1 })
  const { bucket: name = 'holdfast-documents', replicas = 1 } = options
  if (typeof name !== 'string' || !/^[-\w]+$/.test(name))
    refuse('bucket', 'a name of letters, digits, - and _', name)
  expectWhole('replicas', replicas, 1)
  const bucket = new Bucket(connection, { name, replicas })
  return {
    backend: 'NATS',
    explain: natsError,
    async get(key) {
      const message = await bucket.get(key)
      return message?.isMarker ? null : message
    },
    put: (key, text) => bucket.put(key, text),
    compareAndPut: async (key, text, expected) => (await bucket.compareAndPut(key, text, expected)) !== null,
    remove: (key, revision) => bucket.purge(key, revision),
    async *list(kind, what, stop) {
      // A message of our own is the end of the list.
      const last = await bucket.put(`${kind}.=`, '')
      const end = AbortSignal.any([stop, bucket.connection.lost])
      const messages = await bucket.deliver('last_per_subject', `${kind}.>`, end, what === 'keys')
      for await (const message of messages) {
        if (message.revision >= last) return
        yield message
      }
      throw new LeaseError('store-unavailable', 'NATS: the contents cannot be listed')
    },
  }
}
