import * as v from 'valibot'
import { randomId } from '../../../src/base/random-id.ts'
import { createApi } from '../../../src/client/api.ts'
import { inOneSession } from '../../../src/client/lock-requests.ts'
import { Socket } from '../../../src/client/socket.ts'
import { systemClock } from '../../../src/core/index.ts'
import { documentEvents, type Person, roomLocks } from '../../../src/protocol/index.ts'
import { SERVICE_URL } from '../ui/service-url.ts'

/** Also for browsers without WebSockets, and for events that were lost. */
const READ_AGAIN_MS = 15_000
const TERMS = v.object({ channel: v.string(), channel_key: v.string() })

/** Who edits a document. */
export interface RoomLock {
  readonly name: string | null
  readonly sessionId: string
  readonly token: number
}

export type RoomLocks = ReadonlyMap<string, RoomLock>

/**
 * The locks of many rooms: read in one request, then kept up to date by one connection for all of them.
 * `onChange` is called with all locks after every change. Returns a function that ends this.
 */
export function followRooms(rooms: readonly string[], onChange: (locks: RoomLocks) => void): () => void {
  const url = SERVICE_URL
  const api = inOneSession(createApi({ url, clientId: randomId() }))
  const locks = new Map<string, RoomLock>()
  /** Rooms of which an event came while all were read: the event is newer. */
  let changedMeanwhile = new Set<string>()
  let socket: Socket | undefined
  const stop = new AbortController()
  const { signal } = stop
  const refresh = () => {
    if (document.hidden) return
    if (!socket) void listen()
    void readAll()
  }
  const timer = setInterval(refresh, READ_AGAIN_MS)
  signal.addEventListener('abort', () => clearInterval(timer))
  document.addEventListener('visibilitychange', refresh, { signal })
  refresh()
  return () => {
    stop.abort()
    socket?.close()
  }

  async function readAll(): Promise<void> {
    changedMeanwhile = new Set()
    const request = { method: 'POST', path: 'api/documents/locks', body: { rooms } } as const
    const response = await api(request).catch(() => null)
    const { success, output } = v.safeParse(roomLocks, response?.body)
    if (signal.aborted || !success) return
    for (const lock of output.locks) {
      if (changedMeanwhile.has(lock.room_id)) continue
      if (lock.is_locked) set(lock.room_id, lock)
      else locks.delete(lock.room_id)
    }
    onChange(new Map(locks))
  }

  /** The lock of any room says where the events of all rooms are. */
  async function listen(): Promise<void> {
    const [room = ''] = rooms
    const path = `api/documents/${encodeURIComponent(room)}/lock`
    const response = await api({ method: 'GET', path }).catch(() => null)
    const { success, output } = v.safeParse(TERMS, response?.body)
    if (signal.aborted || socket || !success) return
    const form = output.channel.slice(0, output.channel.length - room.length)
    socket = new Socket({
      url,
      key: output.channel_key,
      channels: rooms.map((name) => form + name),
      clock: systemClock,
      api,
      onEvent,
      onJoined: (again) => again && refresh(),
    })
    socket.open()
  }

  function onEvent(event: string, data: object): void {
    const locked = v.safeParse(documentEvents['document.locked'], data)
    const unlocked = v.safeParse(documentEvents['document.unlocked'], data)
    if (event === 'document.locked' && locked.success) {
      const { room_id } = locked.output
      changedMeanwhile.add(room_id)
      set(room_id, locked.output)
    } else if (event === 'document.unlocked' && unlocked.success) {
      const { room_id, token } = unlocked.output
      const known = locks.get(room_id)
      changedMeanwhile.add(room_id)
      if (known && known.token <= token) locks.delete(room_id)
    } else return
    onChange(new Map(locks))
  }

  function set(room: string, { token, holder }: { readonly token: number; readonly holder: Person }): void {
    locks.set(room, { name: holder.name ?? null, sessionId: holder.session_id, token })
  }
}
