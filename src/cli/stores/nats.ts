import { LeaseError } from '../../core/index.ts'
import { natsStore } from '../../stores/nats/index.ts'
import { usageFailure } from '../failure.ts'
import { loadClient, notLetIn, type OpenedStore, optional, takeParameter } from './opened-store.ts'

const CONNECT_LIMIT_MS = 5000

export async function openNats(url: URL): Promise<OpenedStore> {
  const bucket = takeParameter(url, 'bucket')
  const replicas = takeParameter(url, 'replicas')
  if (replicas !== undefined && !/^[1-9]$/.test(replicas))
    throw usageFailure(`replicas: expected 1 to 9, got ${JSON.stringify(replicas)}`)
  const { connect } = await loadClient('NATS', {
    '@nats-io/transport-node @nats-io/kv': () => import('@nats-io/transport-node'),
  })
  const { username, password } = url
  const connection = await connect({
    servers: url.host,
    // A token stands in place of a user.
    ...(username && !password && { token: decodeURIComponent(username) }),
    ...(password && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    timeout: CONNECT_LIMIT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
  }).catch((cause: Error) => {
    if (cause.name === 'AuthorizationError') throw notLetIn(cause.message, 'nats', cause)
    throw new LeaseError('store-unavailable', cause.message, { cause })
  })
  const store = natsStore(connection, {
    ...optional('bucket', bucket),
    ...(replicas !== undefined && { replicas: Number(replicas) }),
  })
  return {
    store,
    examine: async () => ({
      version: `NATS ${connection.info?.version} through @nats-io/transport-node`,
      concerns: [],
    }),
    serverParts: async () => ({ bus: (await import('../../server/index.ts')).natsBus(connection) }),
    async close() {
      await store.close()
      await connection.close()
    },
  }
}
