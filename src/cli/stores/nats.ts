import { messageOf } from '../../base/errors.ts'
import { showRedacted } from '../../base/redact.ts'
import { natsError } from '../../clients/nats-errors.ts'
import { natsStore } from '../../stores/nats/index.ts'
import { usageFailure } from '../failure.ts'
import { CONNECT_LIMIT_MS, NATS_RECONNECT_EVERY_MS } from '../options.ts'
import { accessDenied, loadClient, type OpenedStore, optional, takeParameter } from './opened-store.ts'

export async function openNats(url: URL): Promise<OpenedStore> {
  const bucket = takeParameter(url, 'bucket')
  const replicas = takeParameter(url, 'replicas')
  if (replicas !== undefined && !/^[1-9]$/.test(replicas))
    throw usageFailure(`replicas: expected a whole number from 1 to 9, got ${showRedacted(replicas)}`)
  const { connect } = await loadClient('NATS', {
    '@nats-io/transport-node @nats-io/kv': () => import('@nats-io/transport-node'),
  })
  const { username, password } = url
  const connection = await connect({
    servers: url.host,
    // A user without a password is a token.
    ...(username && !password && { token: decodeURIComponent(username) }),
    ...(password && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    timeout: CONNECT_LIMIT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: NATS_RECONNECT_EVERY_MS,
  }).catch((error: unknown) => {
    const { name } = Object(error) as { readonly name?: unknown }
    throw name === 'AuthorizationError' ? accessDenied(messageOf(error), 'nats', error) : natsError(error)
  })
  const options = {
    ...optional('bucket', bucket),
    ...(replicas !== undefined && { replicas: Number(replicas) }),
  }
  const store = natsStore(connection, options)
  return {
    store,
    backendInfo: async () => ({
      version: `NATS ${connection.info?.version} through @nats-io/transport-node`,
      warnings: [],
    }),
    async serverParts() {
      const { natsShared } = await import('../../server/parts.ts')
      return natsShared(connection, options)
    },
    async close() {
      await store.close()
      await connection.close()
    },
  }
}
