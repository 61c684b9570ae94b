import { vi } from 'vitest'
import {
  createDocumentLock,
  type DocumentLock,
  type DocumentLockRoomOptions,
} from '../../src/client/index.ts'
import { eventually } from '../eventually.ts'
import { ADMIN_TOKEN, type ServiceBed } from './service-bed.ts'

/** A network in memory. Like many proxies, it does not tell the server when a client cuts off its request. */
export interface Network {
  /** The requests that were sent, such as `GET /api/documents/room-1`. */
  readonly sent: string[]
  /** How many sockets were opened. None of them ever answers. */
  sockets: number
  /** Requests without an answer, except those that wait in the queue or for the holder. */
  unanswered: number
  /** Runs before the server gets the request. */
  onRequest: (request: string) => void | Promise<void>
  /** Runs before the client gets the response. */
  onResponse: (request: string) => void | Promise<void>
}

export function open(bed: ServiceBed, options: Partial<DocumentLockRoomOptions> = {}): DocumentLock {
  return createDocumentLock({
    url: 'http://holdfast.test',
    roomId: 'room-1',
    name: 'Ken',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    clock: bed.clock,
    ...options,
  })
}

/** The page of this process reaches the service through the network. */
export function connect(bed: ServiceBed): Network {
  const network: Network = { sent: [], sockets: 0, unanswered: 0, onRequest() {}, onResponse() {} }
  vi.stubGlobal(
    'WebSocket',
    class {
      constructor() {
        network.sockets++
      }
      close() {}
    },
  )
  vi.stubGlobal('fetch', async (url: URL, { signal, ...init }: RequestInit) => {
    const name = `${init.method} ${url.pathname}`
    network.sent.push(name)
    const cutOff = new Promise<never>((_, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason)),
    )
    const work = async () => {
      await network.onRequest(name)
      const response = await bed.server.fetch(new Request(url, init))
      await network.onResponse(name)
      return response
    }
    const isWaiting = url.searchParams.has('wait') || /\/lock\/(request|takeover)$/.test(url.pathname)
    if (isWaiting) return Promise.race([work(), cutOff])
    network.unanswered++
    return Promise.race([work(), cutOff]).finally(() => network.unanswered--)
  })
  return network
}

/** Lets three seconds pass, but only while no request waits for its answer. Then the check must have passed. */
export async function withinThreeSeconds(
  bed: ServiceBed,
  network: Network,
  check: () => void,
): Promise<void> {
  let passedMs = 0
  await eventually(async () => {
    while (network.unanswered === 0 && passedMs < 3000) {
      passedMs += 100
      await bed.clock.advance(100)
    }
    check()
  })
}
