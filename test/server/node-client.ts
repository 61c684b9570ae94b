import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type PusherFrame, parseFrame } from '../../src/protocol/index.ts'
import { Browser } from './service-bed.ts'

export interface ServiceNode {
  readonly url: string
  readonly process: ChildProcess
}

/** `store` is an address of Postgres or Redis; contents are always in Postgres. */
export async function startNode(store: string, postgres: string, name: string): Promise<ServiceNode> {
  const child = fork(join(import.meta.dirname, 'node-process.ts'), [store, postgres, name])
  const died = once(child, 'exit').then(() => {
    throw new Error(`a node on ${store} did not start`)
  })
  const [{ port }] = await Promise.race([once(child, 'message'), died])
  died.catch(() => {})
  return { url: `http://127.0.0.1:${port}`, process: child }
}

/** A browser that calls this server. With the cookie of another browser it continues its session. */
export function browserAt(url: string, tab = 'tab-1'): Browser {
  const { host } = new URL(url)
  const call = (request: Request) => {
    const { pathname, search } = new URL(request.url)
    // `fetch` sets the headers of the connection itself.
    const headers = new Headers(request.headers)
    headers.delete('host')
    headers.set('origin', `http://${host}`)
    return fetch(new Request(url + pathname + search, request), { headers })
  }
  return new Browser(call, { 'X-Holdfast-Client': tab })
}

/** A WebSocket in a room, and the events that it received. */
export interface RoomSocket {
  /** The names of the events, in order. */
  readonly heard: readonly string[]
  readonly frames: readonly PusherFrame[]
  close(): void
}

export async function joinRoom(url: string, room: string, cookie?: string): Promise<RoomSocket> {
  // Node's own WebSocket can send headers, which that of browsers cannot.
  const Socket = WebSocket as unknown as new (url: string, options: object) => WebSocket
  const headers = cookie === undefined ? {} : { cookie }
  const socket = new Socket(`${url.replace('http', 'ws')}/app/holdfast?protocol=7`, { headers })
  const heard: string[] = []
  const frames: PusherFrame[] = []
  const joined = Promise.withResolvers<void>()
  socket.addEventListener('error', () => joined.reject(new Error(`no socket at ${url}`)))
  socket.addEventListener('message', ({ data }) => {
    const frame = parseFrame(String(data))
    if (!frame) throw new Error(`no frame: ${data}`)
    const { event } = frame
    if (event === 'pusher:connection_established')
      socket.send(JSON.stringify({ event: 'pusher:subscribe', data: { channel: `document.${room}` } }))
    else if (event === 'pusher_internal:subscription_succeeded') joined.resolve()
    else {
      heard.push(event)
      frames.push(frame)
    }
  })
  await joined.promise
  return { heard, frames, close: () => socket.close() }
}
