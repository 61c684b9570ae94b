import { LeaseError } from '../core/index.ts'
import type { Channel, Socket } from './socket.ts'

const NO_SOCKET =
  'no WebSocket to the server: it is down, or proxies do not let it through, or key is not its channelKey'

export interface Ear {
  /** `null` when the channel is heard, or why it is not. Never rejects, since nobody may be there to see it. */
  readonly opened: Promise<LeaseError | null>
  end(): void
}

/** Listens to a channel. A connection that failed is told at once, though the socket goes on trying. */
export function openEar(socket: Socket, channel: Omit<Channel, 'onLost'>): Ear {
  const { promise: opened, resolve } = Promise.withResolvers<LeaseError | null>()
  const onLost = () => resolve(new LeaseError('store-unavailable', NO_SOCKET))
  const { ready, end } = socket.subscribe({ ...channel, onLost })
  ready.then(() => resolve(null), resolve)
  return {
    opened,
    end() {
      end()
      resolve(new LeaseError('closed', 'nobody listens any more'))
    },
  }
}
